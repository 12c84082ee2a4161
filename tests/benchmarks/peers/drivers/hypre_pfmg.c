/* hypre's structured solver behind five plain functions: conjugate gradients preconditioned by PFMG, for the benchmarks.
 *
 * The matrix has seven points and is symmetric: the diagonal and, per axis, the coefficient of each cell with its lower neighbour.
 * Arrays are C-ordered, (n0, n1, n2); hypre runs fastest along its first axis, so its axes are ours in reverse order.
 */
#define _POSIX_C_SOURCE 200809L
#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <HYPRE_utilities.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* Without MPI, hypre has the type but no communicator by name. */
#ifdef MPI_COMM_WORLD
#define COMMUNICATOR MPI_COMM_WORLD
#else
#define COMMUNICATOR ((MPI_Comm)0)
#endif

typedef struct {
  HYPRE_Int lower[3], upper[3];
  HYPRE_StructGrid grid;
  HYPRE_StructStencil stencil;
  HYPRE_StructMatrix matrix;
  HYPRE_StructVector b, x;
  HYPRE_StructSolver pfmg, pcg;
} Solver;

typedef struct {
  int relax_type, rap_type, sweeps, skip_relax, max_iterations, periodic;
  double tolerance;
} Settings;

typedef struct {
  int iterations, error;
  double residual, seconds, bytes;
} Outcome;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes that the allocator has given out, where it tells. */
static double allocated(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  struct mallinfo2 m = mallinfo2();
  return (double)m.uordblks + (double)m.hblkhd;
#else
  return 0.0;
#endif
}

void pfmg_start(void) {
  static int started = 0;
  if (started) return;
  started = 1;
#ifdef MPI_COMM_WORLD
  int running = 0;
  MPI_Initialized(&running);
  if (!running) MPI_Init(NULL, NULL);
#endif
  HYPRE_Init();
}

const char* pfmg_version(void) { return HYPRE_RELEASE_VERSION; }

/* Can this build use more than one thread? */
int pfmg_threads(int threads) {
#if defined(HYPRE_USING_OPENMP) && defined(_OPENMP)
  omp_set_num_threads(threads);
  return 1;
#else
  return threads == 1;
#endif
}

void pfmg_free(Solver* s) {
  if (s->pcg) HYPRE_StructPCGDestroy(s->pcg);
  if (s->pfmg) HYPRE_StructPFMGDestroy(s->pfmg);
  if (s->b) HYPRE_StructVectorDestroy(s->b);
  if (s->x) HYPRE_StructVectorDestroy(s->x);
  if (s->matrix) HYPRE_StructMatrixDestroy(s->matrix);
  if (s->stencil) HYPRE_StructStencilDestroy(s->stencil);
  if (s->grid) HYPRE_StructGridDestroy(s->grid);
  free(s);
}

/* `entries`: the diagonal, then the coefficients with the lower neighbours along axes 0, 1 and 2. */
Solver* pfmg_setup(const int n[3], double* const entries[4], const Settings* settings, Outcome* outcome) {
  Solver* s = calloc(1, sizeof *s);
  HYPRE_Int offsets[4][3] = {{0, 0, 0}, {0, 0, -1}, {0, -1, 0}, {-1, 0, 0}};
  const double bytes = allocated(), start = now();
  HYPRE_ClearAllErrors();
  for (int d = 0; d < 3; ++d) {
    s->lower[d] = 0;
    s->upper[d] = n[2 - d] - 1;
  }
  HYPRE_StructGridCreate(COMMUNICATOR, 3, &s->grid);
  HYPRE_StructGridSetExtents(s->grid, s->lower, s->upper);
  if (settings->periodic) {
    HYPRE_Int period[3] = {n[2], n[1], n[0]};
    HYPRE_StructGridSetPeriodic(s->grid, period);
  }
  HYPRE_StructGridAssemble(s->grid);
  HYPRE_StructStencilCreate(3, 4, &s->stencil);
  for (HYPRE_Int e = 0; e < 4; ++e) HYPRE_StructStencilSetElement(s->stencil, e, offsets[e]);
  HYPRE_StructMatrixCreate(COMMUNICATOR, s->grid, s->stencil, &s->matrix);
  HYPRE_StructMatrixSetSymmetric(s->matrix, 1);
  HYPRE_StructMatrixInitialize(s->matrix);
  for (HYPRE_Int e = 0; e < 4; ++e) HYPRE_StructMatrixSetBoxValues(s->matrix, s->lower, s->upper, 1, &e, entries[e]);
  HYPRE_StructMatrixAssemble(s->matrix);
  HYPRE_StructVectorCreate(COMMUNICATOR, s->grid, &s->b);
  HYPRE_StructVectorInitialize(s->b);
  HYPRE_StructVectorSetConstantValues(s->b, 1.0);
  HYPRE_StructVectorAssemble(s->b);
  HYPRE_StructVectorCreate(COMMUNICATOR, s->grid, &s->x);
  HYPRE_StructVectorInitialize(s->x);
  HYPRE_StructVectorSetConstantValues(s->x, 0.0);
  HYPRE_StructVectorAssemble(s->x);

  HYPRE_StructPFMGCreate(COMMUNICATOR, &s->pfmg);
  HYPRE_StructPFMGSetMaxIter(s->pfmg, 1);
  HYPRE_StructPFMGSetTol(s->pfmg, 0.0);
  HYPRE_StructPFMGSetZeroGuess(s->pfmg);
  HYPRE_StructPFMGSetRelaxType(s->pfmg, settings->relax_type);
  HYPRE_StructPFMGSetRAPType(s->pfmg, settings->rap_type);
  HYPRE_StructPFMGSetNumPreRelax(s->pfmg, settings->sweeps);
  HYPRE_StructPFMGSetNumPostRelax(s->pfmg, settings->sweeps);
  HYPRE_StructPFMGSetSkipRelax(s->pfmg, settings->skip_relax);
  HYPRE_StructPFMGSetLogging(s->pfmg, 0);

  HYPRE_StructPCGCreate(COMMUNICATOR, &s->pcg);
  HYPRE_StructPCGSetTwoNorm(s->pcg, 1);
  HYPRE_StructPCGSetTol(s->pcg, settings->tolerance);
  HYPRE_StructPCGSetMaxIter(s->pcg, settings->max_iterations);
  HYPRE_StructPCGSetLogging(s->pcg, 0);
  HYPRE_StructPCGSetPrecond(s->pcg, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, s->pfmg);
  HYPRE_StructPCGSetup(s->pcg, s->matrix, s->b, s->x);
  outcome->seconds = now() - start;
  outcome->bytes = allocated() - bytes;
  outcome->error = HYPRE_GetError();
  if (outcome->error) {
    pfmg_free(s);
    return NULL;
  }
  return s;
}

/* From zero; only the iteration is timed, not the copies in and out. */
void pfmg_solve(Solver* s, double* b, double* x, Outcome* outcome) {
  HYPRE_Int iterations = 0;
  HYPRE_ClearAllErrors();
  HYPRE_StructVectorSetBoxValues(s->b, s->lower, s->upper, b);
  HYPRE_StructVectorAssemble(s->b);
  HYPRE_StructVectorSetConstantValues(s->x, 0.0);
  const double start = now();
  HYPRE_StructPCGSolve(s->pcg, s->matrix, s->b, s->x);
  outcome->seconds = now() - start;
  outcome->error = HYPRE_GetError();
  HYPRE_StructPCGGetNumIterations(s->pcg, &iterations);
  HYPRE_StructPCGGetFinalRelativeResidualNorm(s->pcg, &outcome->residual);
  outcome->iterations = (int)iterations;
  HYPRE_StructVectorGetBoxValues(s->x, s->lower, s->upper, x);
}
