#include "meniscus/solids/hair/rod_force.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/hair/rod_loops.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids::hair {
using mesh::Point;

namespace {

constexpr int most_turns = 40;
constexpr double turn_tolerance = 1e-13;

/// Turns the edges, at fixed positions, until all moments about them are in balance.
template <class Group, class Scratch>
MENISCUS_INLINE void balance_twists(const Group& g, Scratch& s) {
  const Pack zero = splat(0.0), half = splat(0.5), one = splat(1.0);
  for (int k = 0; k < most_turns; ++k) {
    // Tridiagonal: by edge, the diagonal in `matrix`, the entry with the edge before in `slope`, minus the moment in `move`.
    Pack* const diagonal = s.matrix;
    Pack* const before = s.slope;
    for (Index j = 0; j < g.slots; ++j) {
      diagonal[j] = g.at(loose_plane, j) + (one - g.at(real_plane, j)) * splat(held_diagonal);
      before[j] = zero, s.move[4 * j + 3] = zero;
    }
    for (Index j = 1; j + 1 < g.slots; ++j) {
      const PointLaw law = g.point(j);
      const EdgeFrame a = edge_frame(s.now, j - 1), b = edge_frame(s.now, j);
      const PointShape shape = shape_of(a, b, law);
      const PointForces p = point_gradient(a, b, law, shape, s.now.m[j] - law.twist);
      diagonal[j - 1] += max(half * law.bending * dot(shape.kb, shape.we), zero) + law.twisting;
      diagonal[j] += max(half * law.bending * dot(shape.kb, shape.wf), zero) + law.twisting;
      before[j] = -law.twisting;
      s.move[4 * j - 1] -= p.p;
      s.move[4 * j + 3] -= p.q;
    }
    Pack most = zero;
    for (Index j = 0; j < g.slots; ++j) {
      s.move[4 * j + 3] *= g.at(real_plane, j);
      diagonal[j] = select(diagonal[j] > zero, diagonal[j], one);
      if (j == 0) continue;
      const Pack l = before[j] / diagonal[j - 1];
      diagonal[j] -= l * before[j];
      s.move[4 * j + 3] -= l * s.move[4 * j - 1];
    }
    Pack last = zero;
    for (Index j = g.slots - 1; j >= 0; --j) {
      const Pack after = j + 1 < g.slots ? before[j + 1] : zero;
      last = (s.move[4 * j + 3] - after * last) / diagonal[j] * g.at(real_plane, j);
      last = max(min(last, half), -half);  // a tenth of a turn at a time
      s.move[4 * j + 3] = last;
      most = max(most, abs(last));
    }
    frames_from(g, s.x, s.move, s.now, s.next);
    std::swap(s.now, s.next);
    if (!any(most > splat(turn_tolerance))) return;
  }
}

/// The vector (x, y, z) of rows 4 * slot of a product of the band with a vector; the twists take part.
template <class Group>
MENISCUS_INLINE void multiply_band(const Group& g, const Pack* m, const Pack* u, Pack* out) {
  const Index rows = 4 * g.slots;
  for (Index r = 0; r < rows; ++r) {
    Pack sum = m[band_row * r] * u[r];
    const Index first = std::min<Index>(band, r), last = std::min<Index>(band, rows - 1 - r);
    for (Index k = 1; k <= first; ++k) sum += m[band_row * r + k] * u[r - k];
    for (Index k = 1; k <= last; ++k) sum += m[band_row * (r + k) + k] * u[r + k];
    out[r] = sum;
  }
}

}  // namespace

double RodForce::energy(std::span<const Point> x) const {
  double* const each = energies_.data();
  strands_->for_groups([&](const auto& g, auto& s, Index n) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    balance_twists(g, s);
    const Pack e = elastic_energy(g, s.x, s.now);
    strands_->per_strand(n, [&](int l, Index strand) { each[strand] = e[l]; });
  });
  return core::parallel_reduce(
      0, strands_->strands(), 256, 0.0,
      [&](Index b, Index e) {
        double sum = 0;
        for (Index i = b; i < e; ++i) sum += each[i];
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void RodForce::add_forces(std::span<const Point> x, std::span<Point> f) const {
  strands_->for_groups([&](const auto& g, auto& s, Index) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    balance_twists(g, s);
    elastic_slope(g, s.x, s.now, s.slope);
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) f[p][c] -= s.slope[4 * j + c][l];
    });
  });
}

void RodForce::linearise(std::span<const Point> x, Tangent tangent) {
  const Index slots = strands_->slots();
  if (matrix_.size() == 0) {
    matrix_ = core::Block<double>(pack_size * 4 * band_row * slots);
    twists_ = core::Block<double>(pack_size * 2 * slots);
  }
  strands_->for_groups([&](const auto& g, auto& s, Index n) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    balance_twists(g, s);
    store_frames(g, s.now);
    elastic_stiffness(g, s.x, s.now, splat(tangent == Tangent::exact ? 1.0 : 0.0) > splat(0.5), s.matrix);
    const Index first = strands_->first_slot(n);
    double* const m = matrix_.data() + pack_size * 4 * band_row * first;
    std::copy_n(reinterpret_cast<const double*>(s.matrix), pack_size * 4 * band_row * g.slots, m);
    // Factors of the twists: entry with the edge before, divided by its pivot; inverse pivots.
    double* const factors = twists_.data() + pack_size * 2 * first;
    Pack before_inverse = splat(0.0);
    for (Index j = 0; j < g.slots; ++j) {
      const Pack off = j > 0 ? s.matrix[band_row * (4 * j + 3) + 4] : splat(0.0);
      const Pack l = off * before_inverse;
      const Pack pivot = s.matrix[band_row * (4 * j + 3)] + g.at(loose_plane, j) - l * off;
      const PackMask good = (g.at(real_plane, j) > splat(0.5)) & (pivot > splat(0.0));
      before_inverse = select(good, splat(1.0) / select(good, pivot, splat(1.0)), splat(0.0));
      store_pack(factors + 2 * pack_size * j, l);
      store_pack(factors + 2 * pack_size * j + pack_size, before_inverse);
    }
  });
}

void RodForce::add_differentials(std::span<const Point> dx, double scale, std::span<Point> f) const {
  core::require(matrix_.size() > 0, "linearise comes before differentials");
  strands_->for_groups([&](const auto& g, auto& s, Index n) {
    const Index first = strands_->first_slot(n);
    const auto* const m = reinterpret_cast<const Pack*>(matrix_.data()) + 4 * band_row * first;
    const auto* const factors = reinterpret_cast<const Pack*>(twists_.data()) + 2 * first;
    gather(g, dx, s.x);
    for (Index j = 0; j < g.slots; ++j) {
      s.move[4 * j] = s.x[j].x, s.move[4 * j + 1] = s.x[j].y, s.move[4 * j + 2] = s.x[j].z;
      s.move[4 * j + 3] = splat(0.0);
    }
    multiply_band(g, m, s.move, s.slope);
    // Twists that keep the moments in balance.
    Pack last = splat(0.0);
    for (Index j = 0; j < g.slots; ++j) {
      last = -s.slope[4 * j + 3] - factors[2 * j] * last;
      s.move[4 * j + 3] = last;
    }
    last = splat(0.0);
    for (Index j = g.slots - 1; j >= 0; --j) {
      const Pack l = j + 1 < g.slots ? factors[2 * (j + 1)] : splat(0.0);
      last = factors[2 * j + 1] * s.move[4 * j + 3] - l * last;
      s.move[4 * j + 3] = last;
    }
    multiply_band(g, m, s.move, s.slope);
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) f[p][c] -= scale * s.slope[4 * j + c][l];
    });
  });
}

void RodForce::add_diagonal(double stiffness_scale, double, std::span<Block3> blocks) const {
  strands_->for_groups([&](const auto& g, auto&, Index n) {
    const auto* const m = reinterpret_cast<const Pack*>(matrix_.data()) + 4 * band_row * strands_->first_slot(n);
    for_points(g, [&](int l, Index j, Index p) {
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c <= r; ++c) {
          const double h = -stiffness_scale * m[band_row * (4 * j + r) + r - c][l];
          blocks[p](r, c) += h;
          if (r != c) blocks[p](c, r) += h;
        }
    });
  });
}

void RodForce::add_stiffness_bounds(std::span<const Point> x, std::span<double> stiffness) const {
  strands_->for_groups([&](const auto& g, auto& s, Index) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    elastic_stiffness(g, s.x, s.now, splat(0.0) == splat(0.0), s.matrix);
    const Index rows = 4 * g.slots;
    // The sum of the absolute values of a row of positions bounds its eigenvalues; forces per node count half of it.
    for_points(g, [&](int l, Index j, Index p) {
      double most = 0;
      for (Index r = 4 * j; r < 4 * j + 3; ++r) {
        double sum = std::abs(s.matrix[band_row * r][l]);
        for (Index k = 1; k <= band; ++k) {
          if (k <= r && (r - k) % 4 != 3) sum += std::abs(s.matrix[band_row * r + k][l]);
          if (r + k < rows && (r + k) % 4 != 3) sum += std::abs(s.matrix[band_row * (r + k) + k][l]);
        }
        most = std::max(most, sum);
      }
      stiffness[p] += 0.5 * most;
    });
  });
}

std::size_t RodForce::nbytes() const {
  std::size_t bytes = strands_->nbytes() + std::span<const double>(energies_.begin(), energies_.end()).size_bytes();
  for (const core::Block<double>* b : {&matrix_, &twists_}) bytes += std::span<const double>(b->begin(), b->end()).size_bytes();
  return bytes;
}

}  // namespace meniscus::solids::hair
