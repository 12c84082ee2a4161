#include "meniscus/grid/poisson/poisson_solver.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/connected/stalling.hpp"
#include "meniscus/grid/poisson/engines/engine_solve.hpp"
#include "meniscus/grid/poisson/poisson_reference.hpp"
#include "meniscus/grid/poisson/segment_kernels.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <chrono>
#include <cstring>

namespace meniscus::grid {
namespace {

static_assert(numerics::LinearSystem<PoissonSolver<2>> && numerics::LinearSystem<PoissonSolver<3>>);

/// Of a right-hand side, relative to what was subtracted from it.
constexpr double rounding = 0x1p-46;

/// Of the tolerance: what taking out the constants of closed regions may add to a residual.
constexpr double rounded = 1.01;

/// Terms of a sum, one per cell of a segment: added up in a fixed tree, which follows the segments.
struct TreeLanes {
  std::array<double, segment_cells> lane{};
  double* row() { return lane.data(); }
  static MENISCUS_INLINE void put(double& to, double term) { to += term; }
  void finish(int) {}
  double total() {
    for (std::size_t width = segment_cells / 2; width > 0; width /= 2)
      for (std::size_t l = 0; l < width; ++l) lane[l] += lane[l + width];
    return lane[0];
  }
};

/// The same with bits that do not depend on segments and blocks, for some more operations per term.
struct OrderFreeLanes {
  std::array<double, segment_cells> term{};
  numerics::BinnedLanes<segment_cells> sum;
  double* row() { return term.data(); }
  static MENISCUS_INLINE void put(double& to, double term) { to = term; }
  MENISCUS_INLINE void finish(int cells) { sum.add(term.data(), cells); }
};

template <int D>
Index planes_per_task(const CellLayout<D>& layout) {
  return std::max<Index>(1, 32768 / layout.plane_cells());
}

/// Calls body(first segment, end) on pieces of all segments.
template <int D, class Body>
void for_segments(const FaceMatrix<double, D>& a, Body&& body) {
  parallel_for(0, a.layout.cells[0], planes_per_task(a.layout),
               [&](Index b, Index e) { body(a.plane_segments(b), a.plane_segments(e)); });
}

/// Calls body(first segment, end, step) for the rows of some planes: `step` leads from the place of a cell to its place on the
/// finest level of a hierarchy.
template <int D, class Body>
MENISCUS_INLINE void for_row_segments(const FaceMatrix<double, D>& a, const PoissonHierarchy<D>& hierarchy, Index first_plane,
                                      Index last_plane, Body&& body) {
  const Index rows = a.layout.rows_per_plane();
  for (Index r = first_plane * rows; r < last_plane * rows; ++r)
    body(a.row_segments(r), a.row_segments(r + 1), hierarchy.step(r));
}

/// Calls body(first plane, end) on pieces.
template <int D, class Body>
void for_planes(const FaceMatrix<double, D>& a, Body&& body) {
  parallel_for(0, a.layout.cells[0], planes_per_task(a.layout), body);
}

/// The same where each piece adds terms to a sum: body(first plane, end, lanes).
template <int D, class Body>
double sum_planes(const FaceMatrix<double, D>& a, bool order_free, Body&& body) {
  if (!order_free)
    return parallel_reduce(
        0, a.layout.cells[0], planes_per_task(a.layout), 0.0,
        [&](Index b, Index e) -> double {
          TreeLanes lanes;
          body(b, e, lanes);
          return lanes.total();
        },
        [](double x, double y) { return x + y; });
  using numerics::BinnedSum;
  const BinnedSum sum = parallel_reduce(
      0, a.layout.cells[0], planes_per_task(a.layout), BinnedSum(),
      [&](Index b, Index e) -> BinnedSum {
        OrderFreeLanes lanes;
        body(b, e, lanes);
        return lanes.sum.total();
      },
      [](BinnedSum x, const BinnedSum& y) {
        x.add(y);
        return x;
      });
  return parallel::global_sum(a.layout.halo.communicator(), sum);
}

/// The same with body(first segment, end, lanes).
template <int D, class Body>
double sum_segments(const FaceMatrix<double, D>& a, bool order_free, Body&& body) {
  return sum_planes(a, order_free, [&](Index b, Index e, auto& lanes) { body(a.plane_segments(b), a.plane_segments(e), lanes); });
}

}  // namespace

template <int D>
void PoissonSolver<D>::prepare() {
  RowChanges<D> all;
  all.mark_all(matrix.layout);
  prepare(all);
}

template <int D>
void PoissonSolver<D>::prepare(const RowChanges<D>& changed) {
  const CellLayout<D>& layout = matrix.layout;
  // What changes in one block concerns its neighbours too.
  const bool whole = layout.halo.block().cut() || changed.all() || matrix.masses.size() > 0 || !(prepared_layout_ == layout) ||
                     prepared_coupling_ != matrix.open_coupling || prepared_mass_ != matrix.mass;
  const bool fresh = changed.all() || !(prepared_layout_ == layout);
  // An interruption on the way leaves parts of two matrices.
  prepared_layout_ = CellLayout<D>();
  matrix.finish(whole ? nullptr : &changed);
  regions_.find(matrix);
  hierarchy_.build(matrix, whole ? nullptr : &changed);
  connected_.forget();
  if (engine_) engine_->forget();
  unknowns_ = parallel::global_sum(layout.halo.communicator(), matrix.unknowns);
  // Kernels write whole segments. Neighbours are read from x and p beyond them, and b is set in cells alone, but summed over
  // whole segments.
  const Index n = layout.size, length = layout.cells[D - 1];
  for (Block<double>* block : {&b, &x, &r_, &p_, &q_})
    if (block->size() != n) *block = Block<double>(n);
  if (fresh)
    parallel_for(0, n, 1 << 16, [&](Index begin, Index end) {
      for (Block<double>* block : {&b, &x, &p_})
        std::memset(block->data() + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(double));
    });
  else
    parallel_for(0, layout.rows(), std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        if (!(whole || changed[r]) || matrix.unknowns_in_row(r) == length) continue;
        for (Index i = layout.row(r); i < layout.row(r) + length; ++i)
          if (!matrix.active[i]) b[i] = x[i] = p_[i] = 0;
      }
    });
  prepared_layout_ = layout;
  prepared_coupling_ = matrix.open_coupling;
  prepared_mass_ = matrix.mass;
}

template <int D>
void PoissonSolver<D>::solve(const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info,
                             double subtracted) {
  const auto start = std::chrono::steady_clock::now();
  set_order_free(options.order_free);
  by_connection_ = false;
  subtracted = std::max(subtracted, regions_.remove_means(b.data()));
  norm_b_ = std::sqrt(inner_product(b, b));
  if (norm_b_ <= rounding * subtracted) {
    combine(0.0, b, 0.0, b);
    norm_b_ = 0.0;
  }
  scale_ = norm_b_ > 0 ? std::sqrt(static_cast<double>(unknowns_)) / norm_b_ : 1.0;
  if (start_is_zero)
    combine(0.0, b, 0.0, x);
  else
    project(x);
  if (options.method == numerics::SolveMethod::engine) {
    require(options.engine != nullptr, "a solve by another library needs the table of its functions");
    if (!engine_ || !engine_->uses(*options.engine, matrix.layout))
      engine_ = std::make_shared<EngineSystem<D>>(*options.engine, matrix.layout);
    solve_by_engine(*this, *engine_, r_, p_, options, start_is_zero, info);
    project(x);
  } else if (options.method == numerics::SolveMethod::incomplete_cholesky) {
    solve_by_incomplete_cholesky(*this, r_, p_, q_, options, start_is_zero, info);
    project(x);
  } else {
    const numerics::ConjugateGradientVectors<PoissonSolver> vectors{x, b, r_, p_, q_, hierarchy_.correction()};
    numerics::conjugate_gradients(*this, vectors, options, start_is_zero, info);
    project(x);
    if (!is_met(options, info)) {
      numerics::SolveOptions rest = options;
      rest.max_iterations -= info.iterations;
      numerics::conjugate_gradients(*this, vectors, rest, false, again_);
      info.iterations += again_.iterations;
      info.history.insert(info.history.end(), again_.history.begin() + 1, again_.history.end());
      project(x);
      if (!is_met(options, info)) {
        info.converged = false;
        info.end = numerics::SolveEnd::round_off;
      }
    }
  }
  // Both cycles are definite but for rounding.
  using numerics::SolveEnd;
  if (by_connection_ && !info.converged && info.end != SolveEnd::iteration_limit) info.end = SolveEnd::round_off;
  by_connection_ = false;
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A constant of a closed region that was much larger than what differs from it has left its rounding there: whether the
/// residual, which is told as it is without the constant, still meets the tolerance of a solve that did.
template <int D>
bool PoissonSolver<D>::is_met(const numerics::SolveOptions& options, numerics::SolveInfo& info) {
  if (!regions_.any_closed() || norm_b_ == 0) return true;
  info.residual = std::sqrt(residual(x, b, r_)) / norm_b_;
  return !info.converged || info.residual <= rounded * options.tolerance;
}

template <int D>
void PoissonSolver<D>::region_residuals(std::vector<double>& norms) {
  residual(x, b, r_);
  regions_.sum_squares(r_.data(), norms);
  for (double& n : norms) n = norm_b_ > 0 ? std::sqrt(n) / norm_b_ : 0.0;
}

template <int D>
void PoissonSolver<D>::multiply(Vector& p, Vector& q) {
  multiply_dot(p, q);
}

template <int D>
double PoissonSolver<D>::multiply_dot(Vector& p, Vector& q) {
  matrix.layout.halo.exchange(p.data());
  const Couplings<double, D> couplings(matrix);
  const double* diagonal = matrix.diagonal.data();
  const double open_diagonal = matrix.open_diagonal();
  const double* from = p.data();
  double* to = q.data();
  return sum_segments(matrix, order_free_, [&](const Segment* begin, const Segment* end, auto& lanes) {
    using Lanes = std::remove_reference_t<decltype(lanes)>;
    simd_dispatch([=, &couplings, &lanes] {
      double* term = lanes.row();
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
        for (int l = 0; l < cells; ++l) {
          const double d = is_constant(kind) ? open_diagonal : diagonal[first + l];
          const double y = d * from[first + l] - couplings.template sum<kind>(from, first + l);
          to[first + l] = is_constant(kind) || d != 0 ? y : 0.0;
        }
        for (int l = 0; l < cells; ++l) Lanes::put(term[l], to[first + l] * from[first + l]);
        lanes.finish(cells);
      });
    });
  });
}

template <int D>
bool PoissonSolver<D>::change_preconditioner(const numerics::SolveOptions& options, const numerics::SolveInfo& info) {
  if (by_connection_ || !geometric_cycle_stalls(options, info)) return false;
  if (!connected_.built()) connected_.build(matrix);
  // Whole segments are read of what comes from there, but unknowns alone are written.
  combine(0.0, b, 0.0, q_);
  by_connection_ = true;
  return true;
}

template <int D>
void PoissonSolver<D>::precondition(const Vector& r, Correction&) {
  if (by_connection_) {
    // Its constants of closed regions are nothing to the matrix, but cost digits.
    connected_.apply(r, q_);
    project(q_);
    float* single = hierarchy_.correction().data();
    const double* from = q_.data();
    const double scale = scale_ / hierarchy_.unit();
    for_planes(matrix, [&](Index first_plane, Index last_plane) {
      for_row_segments(matrix, hierarchy_, first_plane, last_plane, [=](const Segment* begin, const Segment* end, Index step) {
        for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
          for (int l = 0; l < cells; ++l) single[first + step + l] = static_cast<float>(scale * from[first + l]);
        });
      });
    });
    return;
  }
  const double* from = r.data();
  float* to = hierarchy_.right_hand_side().data();
  const double scale = scale_;
  for_planes(matrix, [&](Index first_plane, Index last_plane) {
    simd_dispatch([=, this] {
      for_row_segments(matrix, hierarchy_, first_plane, last_plane, [=](const Segment* begin, const Segment* end, Index step) {
        for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
          float* single = to + first + step;
          for (int l = 0; l < cells; ++l) single[l] = static_cast<float>(scale * from[first + l]);
        });
      });
    });
  });
  hierarchy_.cycle();
}

template <int D>
double PoissonSolver<D>::inner_product(const Vector& u, const Vector& v) const {
  const double *a = u.data(), *c = v.data();
  return sum_segments(matrix, order_free_, [&](const Segment* begin, const Segment* end, auto& lanes) {
    using Lanes = std::remove_reference_t<decltype(lanes)>;
    simd_dispatch([=, &lanes] {
      double* term = lanes.row();
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
        for (int l = 0; l < cells; ++l) Lanes::put(term[l], a[first + l] * c[first + l]);
        lanes.finish(cells);
      });
    });
  });
}

template <int D>
double PoissonSolver<D>::inner_product(const Vector& u, const Correction& z) const {
  const double* a = u.data();
  const float* c = z.data();
  return sum_planes(matrix, order_free_, [&](Index first_plane, Index last_plane, auto& lanes) {
    using Lanes = std::remove_reference_t<decltype(lanes)>;
    simd_dispatch([=, this, &lanes] {
      double* term = lanes.row();
      for_row_segments(matrix, hierarchy_, first_plane, last_plane,
                       [=, &lanes](const Segment* begin, const Segment* end, Index step) {
                         for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
                           const float* single = c + first + step;
                           for (int l = 0; l < cells; ++l) Lanes::put(term[l], a[first + l] * static_cast<double>(single[l]));
                           lanes.finish(cells);
                         });
                       });
    });
  });
}

template <int D>
void PoissonSolver<D>::combine(double alpha, const Vector& p, double beta, Vector& y) const {
  const double* a = p.data();
  double* to = y.data();
  for_segments(matrix, [&](const Segment* begin, const Segment* end) {
    simd_dispatch([=] {
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
        if (beta == 0)
          for (int l = 0; l < cells; ++l) to[first + l] = alpha * a[first + l];
        else
          for (int l = 0; l < cells; ++l) to[first + l] = alpha * a[first + l] + beta * to[first + l];
      });
    });
  });
}

template <int D>
void PoissonSolver<D>::combine(double alpha, const Correction& z, double beta, Vector& y) const {
  const float* a = z.data();
  double* to = y.data();
  for_planes(matrix, [&](Index first_plane, Index last_plane) {
    simd_dispatch([=, this] {
      for_row_segments(matrix, hierarchy_, first_plane, last_plane, [=](const Segment* begin, const Segment* end, Index step) {
        for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
          const float* single = a + first + step;
          if (beta == 0)
            for (int l = 0; l < cells; ++l) to[first + l] = alpha * static_cast<double>(single[l]);
          else
            for (int l = 0; l < cells; ++l) to[first + l] = alpha * static_cast<double>(single[l]) + beta * to[first + l];
        });
      });
    });
  });
}

template <int D>
double PoissonSolver<D>::residual(Vector& solution, const Vector& right, Vector& r) const {
  matrix.layout.halo.exchange(solution.data());
  const Couplings<double, D> couplings(matrix);
  const double* diagonal = matrix.diagonal.data();
  const double open_diagonal = matrix.open_diagonal();
  const double* from = solution.data();
  const double* rhs = right.data();
  double* to = r.data();
  return sum_segments(matrix, order_free_, [&](const Segment* begin, const Segment* end, auto& lanes) {
    using Lanes = std::remove_reference_t<decltype(lanes)>;
    simd_dispatch([=, &couplings, &lanes] {
      double* term = lanes.row();
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
        for (int l = 0; l < cells; ++l) {
          const double d = is_constant(kind) ? open_diagonal : diagonal[first + l];
          const double y = rhs[first + l] - (d * from[first + l] - couplings.template sum<kind>(from, first + l));
          to[first + l] = is_constant(kind) || d != 0 ? y : 0.0;
        }
        for (int l = 0; l < cells; ++l) Lanes::put(term[l], to[first + l] * to[first + l]);
        lanes.finish(cells);
      });
    });
  });
}

template <int D>
double PoissonSolver<D>::reduce_residual(double alpha, const Vector& q, Vector& r) const {
  const double* a = q.data();
  double* to = r.data();
  return sum_segments(matrix, order_free_, [&](const Segment* begin, const Segment* end, auto& lanes) {
    using Lanes = std::remove_reference_t<decltype(lanes)>;
    simd_dispatch([=, &lanes] {
      double* term = lanes.row();
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
        for (int l = 0; l < cells; ++l) {
          const double v = to[first + l] - alpha * a[first + l];
          to[first + l] = v;
          Lanes::put(term[l], v * v);
        }
        lanes.finish(cells);
      });
    });
  });
}

template <int D>
void PoissonSolver<D>::advance(double alpha, double beta, const Correction& z, Vector& p, Vector& solution) const {
  const float* a = z.data();
  double *direction = p.data(), *to = solution.data();
  for_planes(matrix, [&](Index first_plane, Index last_plane) {
    simd_dispatch([=, this] {
      for_row_segments(matrix, hierarchy_, first_plane, last_plane, [=](const Segment* begin, const Segment* end, Index step) {
        for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int) {
          const float* single = a + first + step;
          for (int l = 0; l < cells; ++l) {
            const double before = direction[first + l];
            to[first + l] += alpha * before;
            direction[first + l] = static_cast<double>(single[l]) + beta * before;
          }
        });
      });
    });
  });
}

template <int D>
Index PoissonSolver<D>::bytes() const {
  return matrix.bytes() + (b.size() + x.size() + r_.size() + p_.size() + q_.size()) * 8 + regions_.bytes() + hierarchy_.bytes() +
         connected_.bytes();
}

template class PoissonSolver<2>;
template class PoissonSolver<3>;

}  // namespace meniscus::grid
