// Springs along a chain of nodes, with damping, as plain as a force can be: for tests of what uses forces.
#pragma once

#include "meniscus/solids/elements/element_gather.hpp"
#include "meniscus/solids/force.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::testing {

class ChainForce final : public Force {
 public:
  ChainForce(Index nodes, double rest_length, double stiffness, double damping)
      : rest_(rest_length), stiffness_(stiffness), damping_(damping) {
    for (Index i = 0; i + 1 < nodes; ++i) ends_.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1)});
    gather_ = ElementGather<2>(ends_);
    corner_.resize(2 * ends_.size());
    elastic_.resize(ends_.size());
    direction_.resize(ends_.size());
  }

  Index nodes() const override { return gather_.nodes(); }

  double energy(std::span<const Point> x) const override {
    double sum = 0;
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      const double e = length(x, s) - rest_;
      sum += 0.5 * stiffness_ * e * e;
    }
    return sum;
  }

  void add_forces(std::span<const Point> x, std::span<Point> f) const override {
    add(1.0, f, [&](std::size_t s) -> Point { return stiffness_ * (length(x, s) - rest_) * along(x, s); });
  }

  void linearise(std::span<const Point> x, Tangent tangent) override {
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      direction_[s] = along(x, s);
      const Block3 axial = direction_[s] * direction_[s].transpose();
      double across = 1 - rest_ / length(x, s);
      if (tangent == Tangent::definite) across = std::max(across, 0.0);
      if (tangent == Tangent::frozen) across = 0;
      elastic_[s] = stiffness_ * (axial + across * (Block3::Identity() - axial));
    }
  }

  void add_differentials(std::span<const Point> dx, double scale, std::span<Point> f) const override {
    add(scale, f, [&](std::size_t s) -> Point { return elastic_[s] * difference(dx, s); });
  }

  bool damped() const override { return damping_ > 0; }

  void add_damping(std::span<const Point> v, double scale, std::span<Point> f) const override {
    add(scale, f, [&](std::size_t s) -> Point { return damping_ * direction_[s].dot(difference(v, s)) * direction_[s]; });
  }

  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override {
    for (std::size_t s = 0; s < ends_.size(); ++s)
      for (const std::int32_t node : ends_[s])
        blocks[static_cast<std::size_t>(node)] -=
            stiffness_scale * elastic_[s] + damping_scale * damping_ * direction_[s] * direction_[s].transpose();
  }

  void add_stiffness_bounds(std::span<const Point>, std::span<double> stiffness) const override {
    for (const auto& ends : ends_)
      for (const std::int32_t node : ends) stiffness[static_cast<std::size_t>(node)] += stiffness_;
  }

  double strain_rate(std::span<const Point> x, std::span<const Point> v) const override {
    double most = 0;
    for (std::size_t s = 0; s < ends_.size(); ++s) most = std::max(most, std::abs(along(x, s).dot(difference(v, s))) / rest_);
    return most;
  }

  std::size_t nbytes() const override { return 0; }

 private:
  using Ends = ElementGather<2>::Element;

  static Point difference(std::span<const Point> a, const Ends& e) {
    return a[static_cast<std::size_t>(e[1])] - a[static_cast<std::size_t>(e[0])];
  }
  Point difference(std::span<const Point> a, std::size_t s) const { return difference(a, ends_[s]); }
  double length(std::span<const Point> x, std::size_t s) const { return difference(x, s).norm(); }
  Point along(std::span<const Point> x, std::size_t s) const { return difference(x, s).normalized(); }

  template <class F>
  void add(double scale, std::span<Point> f, F&& tension) const {
    parallel_for(0, static_cast<Index>(ends_.size()), 512, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const auto s = static_cast<std::size_t>(i);
        corner_[2 * s] = tension(s);
        corner_[2 * s + 1] = -corner_[2 * s];
      }
    });
    gather_.add<Point>(corner_, scale, f);
  }

  double rest_, stiffness_, damping_;
  std::vector<Ends> ends_;
  ElementGather<2> gather_;
  mutable std::vector<Point> corner_;
  std::vector<Block3> elastic_;
  std::vector<Point> direction_;
};

}  // namespace meniscus::testing
