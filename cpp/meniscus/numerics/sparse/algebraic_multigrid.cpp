#include "meniscus/numerics/sparse/algebraic_multigrid.hpp"

#include "meniscus/numerics/multigrid.hpp"

#include <cmath>

namespace meniscus::numerics {
namespace {

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

/// Levels of one call; those of the finest are the caller's vectors.
struct AlgebraicMultigrid::Cycle {
  AlgebraicMultigrid& m;
  const double* r;
  double* correction;

  const double* b(int level) const { return level == 0 ? r : m.at(level).b.data(); }
  double* x(int level) const { return level == 0 ? correction : m.at(level).x.data(); }

  int levels() const { return m.depth_; }
  void smooth_from_zero(int level) { m.at(level).smoother.from_zero(b(level), x(level), m.options_.smoother); }
  void smooth_adjoint(int level) { m.at(level).smoother.improve(b(level), x(level), m.options_.smoother); }
  void restrict_residual(int level) {
    Level& l = m.at(level);
    const double *from = b(level), *at = x(level);
    for_rows(l.matrix->rows(), [&](Index i) { l.residual[i] = from[i] - row_product(*l.matrix, i, at); });
    double* const to = m.at(level + 1).b.data();
    for_rows(l.restriction.rows(), [&](Index i) { to[i] = row_product(l.restriction, i, l.residual.data()); });
  }
  void add_correction(int level) {
    const Level& l = m.at(level);
    double* const to = x(level);
    const double* const from = x(level + 1);
    for_rows(l.interpolation.rows(), [&](Index i) { to[i] += row_product(l.interpolation, i, from); });
  }
  void solve_coarsest() { m.coarsest_.solve(b(m.depth_ - 1), x(m.depth_ - 1)); }
};

void AlgebraicMultigrid::precondition(const double* r, double* z) {
  Cycle cycle{*this, r, z};
  v_cycle(cycle);
}

void AlgebraicMultigrid::build(const CompressedRows& a, const AlgebraicMultigridOptions& options) {
  options_ = options;
  if (levels_.empty()) levels_.resize(1);
  levels_[0].matrix = &a;
  levels_[0].scale.resize(a.rows());
  for_rows(a.rows(), [&](Index i) { levels_[0].scale[i] = a.value[a.start[i]]; });
  for (depth_ = 1; unknowns(depth_ - 1) > options.coarsest; ++depth_) {
    if (z(depth_) == levels_.size()) levels_.emplace_back();
    coarsen(at(depth_ - 1), at(depth_));
  }
  coarsest_.factor(*at(depth_ - 1).matrix, at(depth_ - 1).scale);
}

void AlgebraicMultigrid::interpolate(const CompressedRows& a, Index aggregates, CompressedRows& p) const {
  p.columns = aggregates;
  p.start.resize(a.rows() + 1);
  // A row holds its own aggregate first, then the others among its strong neighbours, which are few.
  const auto is_new = [&](Index i, Index k) {
    const std::int32_t own = label_[a.column[k]];
    if (own == label_[i]) return false;
    for (Index l = a.start[i] + 1; l < k; ++l)
      if (label_[a.column[l]] == own && strong_(i, l, a)) return false;
    return true;
  };
  for_rows(a.rows(), [&](Index i) {
    Index count = 0;
    if (label_[i] >= 0) {
      count = 1;
      for (Index k = a.start[i] + 1; k < a.start[i + 1]; ++k) count += strong_(i, k, a) && is_new(i, k);
    }
    p.start[i + 1] = count;
  });
  p.make_room();
  for_rows(a.rows(), [&](Index i) {
    if (label_[i] < 0) return;
    const Index first = p.start[i];
    Index end = first;
    const auto weight_of = [&](std::int32_t aggregate) -> double& {
      Index at = first;
      while (at < end && p.column[at] != aggregate) ++at;
      if (at == end) {
        p.column[end] = aggregate;
        p.value[end++] = 0;
      }
      return p.value[at];
    };
    // Weak couplings are moved to the diagonal, so that the row keeps its sum.
    double diagonal = a.value[a.start[i]], sum = 0;
    weight_of(label_[i]);
    for (Index k = a.start[i] + 1; k < a.start[i + 1]; ++k) {
      if (!strong_(i, k, a)) {
        diagonal += a.value[k];
        continue;
      }
      sum += std::abs(a.value[k]);
      weight_of(label_[a.column[k]]) += a.value[k];
    }
    weight_of(label_[i]) += diagonal;
    // A Jacobi step of 4 / 3 over the bound of the spectrum, applied to the constants on aggregates.
    const double factor = 4.0 / 3.0 / (std::abs(diagonal) + sum);
    for (Index k = first; k < end; ++k) p.value[k] *= -factor;
    p.value[first] += 1;
  });
}

void AlgebraicMultigrid::coarsen(Level& fine, Level& coarse) {
  const CompressedRows& a = *fine.matrix;
  fine.smoother.prepare(a, fine.scale);
  fine.residual.resize(a.rows());
  strong_.measure(a, fine.scale, options_.strength);
  const Index aggregates = aggregate(a, strong_, label_);
  interpolate(a, aggregates, fine.interpolation);
  transpose(fine.interpolation, fine.restriction, next_);
  multiply_.multiply(a, fine.interpolation, RowOrder::any, product_);
  multiply_.multiply(fine.restriction, product_, RowOrder::diagonal_first, coarse.own);
  coarse.matrix = &coarse.own;
  coarse.scale.resize(aggregates);
  coarse.b.resize(aggregates);
  coarse.x.resize(aggregates);
  const CompressedRows& r = fine.restriction;
  for_rows(aggregates, [&](Index i) {
    double sum = 0;
    for (Index k = r.start[i]; k < r.start[i + 1]; ++k) sum += r.value[k] * r.value[k] * fine.scale[r.column[k]];
    coarse.scale[i] = sum;
  });
}

Index AlgebraicMultigrid::bytes() const {
  const auto of = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  Index sum = coarsest_.bytes() + strong_.bytes() + of(label_) + of(next_) + product_.bytes() + multiply_.bytes();
  for (const Level& l : levels_)
    sum += l.own.bytes() + of(l.scale) + l.smoother.bytes() + l.interpolation.bytes() + l.restriction.bytes() + of(l.b) +
           of(l.x) + of(l.residual);
  return sum;
}

}  // namespace meniscus::numerics
