#include "meniscus/solids/hair/strips/strip_force.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/hair/strips/strip_loops.hpp"

#include <algorithm>

namespace meniscus::solids::hair::strips {
using mesh::Point;

namespace {

constexpr int band = 3 * reach + 2, band_row = band + 1;

}  // namespace

double StripForce::energy(std::span<const Point> x) const {
  strands_->energies(x, {energies_.begin(), energies_.end()});
  const double* const each = energies_.data();
  return core::parallel_reduce(
      0, strands_->strands(), 256, 0.0,
      [&](Index b, Index e) {
        double sum = 0;
        for (Index i = b; i < e; ++i) sum += each[i];
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void StripForce::add_forces(std::span<const Point> x, std::span<Point> f) const {
  strands_->for_groups([&](const auto& g, auto& s, Index) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    elastic_slope(g, s.x, s.now, s.slope);
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) f[p][c] -= s.slope[3 * j + c][l];
    });
  });
}

void StripForce::linearise(std::span<const Point> x, Tangent tangent) {
  if (matrix_.size() == 0) matrix_ = core::Block<double>(pack_size * 3 * band_row * strands_->slots());
  strands_->for_groups([&](const auto& g, auto& s, Index n) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    const PackMask exact = splat(tangent == Tangent::exact ? 1.0 : 0.0) > splat(0.5);
    if (tangent == Tangent::frozen)
      elastic_stiffness<Sideways::none>(g, s.x, s.now, exact, s.matrix);
    else
      elastic_stiffness(g, s.x, s.now, exact, s.matrix);
    std::copy_n(reinterpret_cast<const double*>(s.matrix), pack_size * 3 * band_row * g.slots,
                matrix_.data() + pack_size * 3 * band_row * strands_->first_slot(n));
  });
}

void StripForce::add_differentials(std::span<const Point> dx, double scale, std::span<Point> f) const {
  core::require(matrix_.size() > 0, "linearise comes before differentials");
  strands_->for_groups([&](const auto& g, auto& s, Index n) {
    const auto* const m = reinterpret_cast<const Pack*>(matrix_.data()) + 3 * band_row * strands_->first_slot(n);
    gather(g, dx, s.x);
    const Index rows = 3 * g.slots;
    for (Index j = 0; j < g.slots; ++j) s.move[3 * j] = s.x[j].x, s.move[3 * j + 1] = s.x[j].y, s.move[3 * j + 2] = s.x[j].z;
    for (Index r = 0; r < rows; ++r) s.slope[r] = m[band_row * r] * s.move[r];
    for (Index r = 0; r < rows; ++r)
      for (Index k = 1; k <= std::min<Index>(band, r); ++k) {
        const Pack& entry = m[band_row * r + k];
        s.slope[r] += entry * s.move[r - k];
        s.slope[r - k] += entry * s.move[r];
      }
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) f[p][c] -= scale * s.slope[3 * j + c][l];
    });
  });
}

void StripForce::add_diagonal(double stiffness_scale, double, std::span<Block3> blocks) const {
  strands_->for_groups([&](const auto& g, auto&, Index n) {
    const auto* const m = reinterpret_cast<const Pack*>(matrix_.data()) + 3 * band_row * strands_->first_slot(n);
    for_points(g, [&](int l, Index j, Index p) {
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c <= r; ++c) {
          const double h = -stiffness_scale * m[band_row * (3 * j + r) + r - c][l];
          blocks[p](r, c) += h;
          if (r != c) blocks[p](c, r) += h;
        }
    });
  });
}

void StripForce::add_stiffness_bounds(std::span<const Point>, std::span<double> stiffness) const {
  strands_->for_groups([&](const auto& g, auto&, Index) {
    for_points(g, [&](int l, Index j, Index p) {
      double sum = 0;
      for (int s = 0; s < reach; ++s) {
        sum += g.at(spring_plane + s, j)[l];
        if (j > s) sum += g.at(spring_plane + s, j - s - 1)[l];
      }
      // An altitude pulls its four corners with weights of at most 1.
      for (int s = 0; s <= reach && s < j; ++s) sum += 2 * g.at(altitude_plane, j - s)[l];
      stiffness[p] += sum;
    });
  });
}

std::size_t StripForce::nbytes() const {
  const auto bytes_of = [](const core::Block<double>& b) { return std::span<const double>(b.begin(), b.end()).size_bytes(); };
  return strands_->nbytes() + bytes_of(energies_) + bytes_of(matrix_);
}

}  // namespace meniscus::solids::hair::strips
