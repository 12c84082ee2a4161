// Table of functions over hypre's structured solvers: conjugate gradients preconditioned by its semicoarsening multigrid PFMG
// (Ashby and Falgout 1996; Jones and Woodward 2001). Knows nothing of Python and of the rest of the library.
#include "../mpi/mpi_running.hpp"
#include "meniscus/grid/poisson/engines/structured_engine.hpp"

#include <HYPRE_struct_ls.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct System {
  MPI_Comm communicator = MPI_COMM_NULL;
  int axes = 0;
  int levels = 1;  ///< until a single cell is left, where each level halves one axis
  std::vector<HYPRE_Int> first, last;
  HYPRE_StructGrid grid = nullptr;
  HYPRE_StructStencil stencil = nullptr;
  HYPRE_StructMatrix matrix = nullptr;
  HYPRE_StructVector b = nullptr, x = nullptr;
  HYPRE_StructSolver iteration = nullptr, preconditioner = nullptr;
};

/// The errors since the last call. That an iteration has not come to its tolerance is none.
int errors() {
  const int found = HYPRE_GetError() & ~HYPRE_ERROR_CONV;
  HYPRE_ClearAllErrors();
  return found;
}

void release_solver(System& s) {
  if (s.iteration) HYPRE_StructPCGDestroy(s.iteration);
  if (s.preconditioner) HYPRE_StructPFMGDestroy(s.preconditioner);
  if (s.matrix) HYPRE_StructMatrixDestroy(s.matrix);
  s.iteration = s.preconditioner = nullptr;
  s.matrix = nullptr;
}

void release(void* system) {
  System& s = *static_cast<System*>(system);
  release_solver(s);
  if (s.b) HYPRE_StructVectorDestroy(s.b);
  if (s.x) HYPRE_StructVectorDestroy(s.x);
  if (s.stencil) HYPRE_StructStencilDestroy(s.stencil);
  if (s.grid) HYPRE_StructGridDestroy(s.grid);
  MPI_Comm_free(&s.communicator);
  delete &s;
}

int create(std::intptr_t handle, int alone, int axes, const int* first, const int* last, const int* periods, void** system) {
  static const bool begun = [] {
    HYPRE_Init();
    return true;
  }();
  static_cast<void>(begun);
  MPI_Comm from = MPI_COMM_SELF;
  static_assert(sizeof(MPI_Comm) <= sizeof handle);
  if (!alone) std::memcpy(&from, &handle, sizeof from);
  auto* s = new System;
  if (MPI_Comm_dup(from, &s->communicator) != MPI_SUCCESS) {
    delete s;
    return HYPRE_ERROR_GENERIC;
  }
  s->axes = axes;
  s->first.assign(first, first + axes);
  s->last.assign(last, last + axes);
  std::vector<int> cells(s->last);
  MPI_Allreduce(s->last.data(), cells.data(), axes, MPI_INT, MPI_MAX, s->communicator);
  for (const int n : cells) s->levels += std::bit_width(static_cast<unsigned>(n));
  std::vector<HYPRE_Int> around(periods, periods + axes);
  HYPRE_StructGridCreate(s->communicator, axes, &s->grid);
  HYPRE_StructGridSetExtents(s->grid, s->first.data(), s->last.data());
  HYPRE_StructGridSetPeriodic(s->grid, around.data());
  HYPRE_StructGridAssemble(s->grid);
  HYPRE_StructStencilCreate(axes, 1 + axes, &s->stencil);
  for (int e = 0; e <= axes; ++e) {
    std::vector<HYPRE_Int> offset(static_cast<std::size_t>(axes), 0);
    if (e > 0) offset[e - 1] = -1;
    HYPRE_StructStencilSetElement(s->stencil, e, offset.data());
  }
  for (HYPRE_StructVector* v : {&s->b, &s->x}) {
    HYPRE_StructVectorCreate(s->communicator, s->grid, v);
    HYPRE_StructVectorInitialize(*v);
  }
  const int error = errors();
  if (error)
    release(s);
  else
    *system = s;
  return error;
}

int set_matrix(void* system, const double* values, int singular) {
  System& s = *static_cast<System*>(system);
  release_solver(s);
  HYPRE_StructMatrixCreate(s.communicator, s.grid, s.stencil, &s.matrix);
  HYPRE_StructMatrixSetSymmetric(s.matrix, 1);
  HYPRE_StructMatrixInitialize(s.matrix);
  std::vector<HYPRE_Int> entries;
  for (int e = 0; e <= s.axes; ++e) entries.push_back(e);
  HYPRE_StructMatrixSetBoxValues(s.matrix, s.first.data(), s.last.data(), 1 + s.axes, entries.data(),
                                 const_cast<double*>(values));
  HYPRE_StructMatrixAssemble(s.matrix);

  HYPRE_StructPFMGCreate(s.communicator, &s.preconditioner);
  HYPRE_StructPFMGSetMaxIter(s.preconditioner, 1);
  HYPRE_StructPFMGSetTol(s.preconditioner, 0.0);
  HYPRE_StructPFMGSetZeroGuess(s.preconditioner);
  HYPRE_StructPFMGSetNumPreRelax(s.preconditioner, 1);
  HYPRE_StructPFMGSetNumPostRelax(s.preconditioner, 1);
  HYPRE_StructPFMGSetSkipRelax(s.preconditioner, 1);
  // Red-black Gauss-Seidel, the same in both directions; its last level would divide by zero in a singular system, where weighted
  // Jacobi does not.
  HYPRE_StructPFMGSetRelaxType(s.preconditioner, singular ? 1 : 2);
  // Of a single cell that is coupled to nothing, only rounding would be left.
  if (singular) HYPRE_StructPFMGSetMaxLevels(s.preconditioner, std::max(1, s.levels - 2));

  HYPRE_StructPCGCreate(s.communicator, &s.iteration);
  HYPRE_StructPCGSetTwoNorm(s.iteration, 1);
  HYPRE_StructPCGSetRelChange(s.iteration, 0);
  HYPRE_StructPCGSetPrecond(s.iteration, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, s.preconditioner);
  HYPRE_StructPCGSetup(s.iteration, s.matrix, s.b, s.x);
  return errors();
}

int solve(void* system, const double* b, double* x, double tolerance, int max_iterations, int* iterations) {
  System& s = *static_cast<System*>(system);
  HYPRE_StructVectorSetBoxValues(s.b, s.first.data(), s.last.data(), const_cast<double*>(b));
  HYPRE_StructVectorAssemble(s.b);
  HYPRE_StructVectorSetConstantValues(s.x, 0.0);
  HYPRE_StructVectorAssemble(s.x);
  HYPRE_StructPCGSetTol(s.iteration, tolerance);
  HYPRE_StructPCGSetMaxIter(s.iteration, max_iterations);
  HYPRE_StructPCGSolve(s.iteration, s.matrix, s.b, s.x);
  const int error = errors();
  HYPRE_Int done = 0;
  HYPRE_StructPCGGetNumIterations(s.iteration, &done);
  *iterations = done;
  HYPRE_StructVectorGetBoxValues(s.x, s.first.data(), s.last.data(), x);
  return error;
}

void error_text(int error, char* text, std::size_t size) {
  char whole[256] = "";
  HYPRE_DescribeError(error, whole);
  std::snprintf(text, size, "%s", whole);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const meniscus_structured_engine* meniscus_hypre_engine() {
  static const meniscus_structured_engine table{meniscus_structured_engine_version,
                                                "hypre",
                                                MENISCUS_MPI_NAME,
                                                meniscus::mpi_is_running,
                                                create,
                                                release,
                                                set_matrix,
                                                solve,
                                                error_text};
  return &table;
}
