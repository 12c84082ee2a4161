// Stiffness and damping of altitude springs: products with displacements and velocities, diagonal blocks and bounds.
#include "meniscus/solids/springs/altitude_lanes.hpp"
#include "meniscus/solids/springs/altitude_springs.hpp"

#include <cmath>
#include <limits>

namespace meniscus::solids {

std::array<mesh::Point, 4> AltitudeSprings::geometric(std::size_t tet, const std::array<mesh::Point, 4>& dx) const {
  const Index k = spring_[tet].candidate;
  const Corners p = corners(tet, x_);
  const auto f = altitudes::frame(p, k);
  const auto d = altitudes::frame(dx, k);
  const mesh::Point c = f.u.cross(f.v);
  const double square = c.squaredNorm();
  const mesh::Point dc = d.u.cross(f.v) + f.u.cross(d.v);
  const mesh::Point n = c / std::sqrt(square);
  const mesh::Point dn = (dc - n.dot(dc) * n) / std::sqrt(square);
  const mesh::Point rv = f.r.cross(f.v);
  const mesh::Point ur = f.u.cross(f.r);
  const double growth = 2 * c.dot(dc) / square;
  const double w1 = rv.dot(c) / square;
  const double w2 = ur.dot(c) / square;
  const double dw1 = ((d.r.cross(f.v) + f.r.cross(d.v)).dot(c) + rv.dot(dc)) / square - growth * w1;
  const double dw2 = ((d.u.cross(f.r) + f.u.cross(d.r)).dot(c) + ur.dot(dc)) / square - growth * w2;
  const auto change = altitudes::weight_changes(k, dw1, dw2);
  std::array<mesh::Point, 4> g;
  for (std::size_t i = 0; i < 4; ++i) g[i] = -spring_[tet].tension * (change[i] * n + spring_[tet].weight[i] * dn);
  return g;
}

void AltitudeSprings::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  parallel_for(0, size(), chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Spring& s = spring_[t];
      const Corners d = corners(t, dx);
      const mesh::Point change = s.weight[0] * d[0] + s.weight[1] * d[1] + s.weight[2] * d[2] + s.weight[3] * d[3];
      const mesh::Point pull = ((s.across - s.stiffness) * s.direction.dot(change)) * s.direction - s.across * change;
      for (std::size_t i = 0; i < 4; ++i) contribution_[4 * t + i] = s.weight[i] * pull;
      if (tangent_ == Tangent::exact && !in_step_ && s.candidate >= 0 && s.candidate < on_a_line) {
        const auto g = geometric(t, d);
        for (std::size_t i = 0; i < 4; ++i) contribution_[4 * t + i] += g[i];
      }
    }
  });
  gather_.add<mesh::Point>(contribution_, scale, f);
}

void AltitudeSprings::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (!damped_) return;
  const auto along = [&](std::size_t t, const std::array<double, 4>& weight, const mesh::Point& direction, double b) {
    const Corners d = corners(t, v);
    const mesh::Point rate = weight[0] * d[0] + weight[1] * d[1] + weight[2] * d[2] + weight[3] * d[3];
    const mesh::Point pull = (-b * direction.dot(rate)) * direction;
    for (std::size_t i = 0; i < 4; ++i) contribution_[4 * t + i] = weight[i] * pull;
  };
  parallel_for(0, size(), chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t)
      if (in_step_)
        along(t, start_[t].weight, start_[t].direction, start_damping_[t]);
      else
        along(t, spring_[t].weight, spring_[t].direction, spring_[t].damping);
  });
  gather_.add<mesh::Point>(contribution_, scale, f);
}

void AltitudeSprings::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), 256, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node) {
      Block3& block = blocks[node];
      for (const std::int32_t slot : gather_.at(node)) {
        const Index t = slot / 4;
        const Index i = slot % 4;
        const Spring& s = spring_[t];
        if (s.candidate == none) continue;
        const double square = s.weight[i] * s.weight[i];
        block.noalias() -= (stiffness_scale * (s.stiffness - s.across) * square * s.direction) * s.direction.transpose();
        block.diagonal().array() -= stiffness_scale * s.across * square;
        const mesh::Point& n = in_step_ ? start_[t].direction : s.direction;
        const double w = in_step_ ? start_[t].weight[i] : s.weight[i];
        block.noalias() -= (damping_scale * (in_step_ ? start_damping_[t] : s.damping) * w * w * n) * n.transpose();
        if (tangent_ != Tangent::exact || in_step_ || s.candidate >= on_a_line) continue;
        Block3 g;
        for (int axis = 0; axis < 3; ++axis) {
          std::array<mesh::Point, 4> d{mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero()};
          d[i] = mesh::Point::Unit(axis);
          g.col(axis) = geometric(t, d)[i];
        }
        block += (0.5 * stiffness_scale) * (g + g.transpose());
      }
    }
  });
}

void AltitudeSprings::add_stiffness_bounds(std::span<const mesh::Point>, std::span<double> stiffness) const {
  // Weights are at most 1 and their absolute sum is 2; which candidate acts may change within a step, so the stiffest counts.
  parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node)
      for (const std::int32_t slot : gather_.at(node)) {
        const Index t = slot / 4;
        if (rest_length_[t][0] == 0) continue;
        const double shortest = *std::min_element(rest_length_[t].begin(), rest_length_[t].end());
        stiffness[node] += law_.steepest() * (per_length_ ? stiffness_[t] / shortest : stiffness_[t]);
      }
  });
}

void AltitudeSprings::add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const {
  if (!damped_) return;
  // As for the stiffness. The reduced mass of the virtual nodes is at most the greatest mass of an element.
  parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node)
      for (const std::int32_t slot : gather_.at(node)) {
        const Index t = slot / 4;
        if (rest_length_[t][0] == 0) continue;
        double bound = damping_[t];
        if (!inverse_mass_.empty()) {
          const double shortest = *std::min_element(rest_length_[t].begin(), rest_length_[t].end());
          double inverse = std::numeric_limits<double>::infinity();
          for (const std::int32_t corner : tets_[t]) {
            const double w = inverse_mass_[corner];
            if (w > 0) inverse = std::min(inverse, w);
          }
          bound = 2 * damping_[t] * std::sqrt((per_length_ ? stiffness_[t] / shortest : stiffness_[t]) / inverse);
        }
        damping[node] += bound;
      }
  });
}

}  // namespace meniscus::solids
