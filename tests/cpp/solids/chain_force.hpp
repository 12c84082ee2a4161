// Springs along a chain of nodes, with damping: a minimal force for tests of code that uses forces.
#pragma once

#include "meniscus/solids/elements/element_gather.hpp"
#include "meniscus/solids/force.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::testing {

class ChainForce final : public solids::Force {
 public:
  ChainForce(Index nodes, double rest_length, double stiffness, double damping)
      : rest_(rest_length), stiffness_(stiffness), damping_(damping) {
    for (Index i = 0; i + 1 < nodes; ++i) ends_.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1)});
    gather_ = solids::ElementGather<2>(ends_);
    corner_.resize(2 * ends_.size());
    elastic_.resize(ends_.size());
    direction_.resize(ends_.size());
  }

  Index nodes() const override { return gather_.nodes(); }

  double energy(std::span<const mesh::Point> x) const override {
    double sum = 0;
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      const double e = length(x, s) - rest_;
      sum += 0.5 * stiffness_ * e * e;
    }
    return sum;
  }

  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override {
    add(1.0, f, [&](std::size_t s) -> mesh::Point { return stiffness_ * (length(x, s) - rest_) * along(x, s); });
  }

  void linearise(std::span<const mesh::Point> x, solids::Tangent tangent) override {
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      direction_[s] = along(x, s);
      const solids::Block3 axial = direction_[s] * direction_[s].transpose();
      double across = 1 - rest_ / length(x, s);
      if (tangent == solids::Tangent::definite) across = std::max(across, 0.0);
      if (tangent == solids::Tangent::frozen) across = 0;
      elastic_[s] = stiffness_ * (axial + across * (solids::Block3::Identity() - axial));
    }
  }

  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override {
    add(scale, f, [&](std::size_t s) -> mesh::Point { return elastic_[s] * difference(dx, s); });
  }

  bool damped() const override { return damping_ > 0; }

  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override {
    add(scale, f, [&](std::size_t s) -> mesh::Point { return damping_ * direction_[s].dot(difference(v, s)) * direction_[s]; });
  }

  void add_diagonal(double stiffness_scale, double damping_scale, std::span<solids::Block3> blocks) const override {
    for (std::size_t s = 0; s < ends_.size(); ++s)
      for (const std::int32_t node : ends_[s])
        blocks[node] -= stiffness_scale * elastic_[s] + damping_scale * damping_ * direction_[s] * direction_[s].transpose();
  }

  void add_stiffness_bounds(std::span<const mesh::Point>, std::span<double> stiffness) const override {
    for (const auto& ends : ends_)
      for (const std::int32_t node : ends) stiffness[node] += stiffness_;
  }
  void add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const override {
    for (const auto& ends : ends_)
      for (const std::int32_t node : ends) damping[node] += damping_;
  }

  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override {
    double most = 0;
    for (std::size_t s = 0; s < ends_.size(); ++s) most = std::max(most, std::abs(along(x, s).dot(difference(v, s))) / rest_);
    return most;
  }

  std::size_t nbytes() const override { return 0; }

 private:
  using Ends = solids::ElementGather<2>::Element;

  static mesh::Point difference(std::span<const mesh::Point> a, const Ends& e) { return a[e[1]] - a[e[0]]; }
  mesh::Point difference(std::span<const mesh::Point> a, std::size_t s) const { return difference(a, ends_[s]); }
  double length(std::span<const mesh::Point> x, std::size_t s) const { return difference(x, s).norm(); }
  mesh::Point along(std::span<const mesh::Point> x, std::size_t s) const { return difference(x, s).normalized(); }

  template <class F>
  void add(double scale, std::span<mesh::Point> f, F&& tension) const {
    parallel_for(0, static_cast<Index>(ends_.size()), 512, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const auto s = static_cast<std::size_t>(i);
        corner_[2 * s] = tension(s);
        corner_[2 * s + 1] = -corner_[2 * s];
      }
    });
    gather_.add<mesh::Point>(corner_, scale, f);
  }

  double rest_, stiffness_, damping_;
  std::vector<Ends> ends_;
  solids::ElementGather<2> gather_;
  mutable std::vector<mesh::Point> corner_;
  std::vector<solids::Block3> elastic_;
  std::vector<mesh::Point> direction_;
};

}  // namespace meniscus::testing
