/// External forces on single nodes: given forces, and drag in a wind.
#pragma once

#include "meniscus/solids/force.hpp"

#include <vector>

namespace meniscus::solids {

/// Given forces on some nodes, N. Forces on the same node are added.
class PointLoads final : public Force {
 public:
  PointLoads(std::span<const std::int32_t> nodes, std::span<const mesh::Point> loads);

  std::span<mesh::Point> loads() { return load_; }

  Index nodes() const override { return nodes_; }
  /// Minus the work of the loads from the origin.
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point>, Tangent) override {}
  void add_differentials(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  bool damped() const override { return false; }
  void add_damping(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  void add_diagonal(double, double, std::span<Block3>) const override {}
  void add_stiffness_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  void add_damping_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return no_damping_ratios; }
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  std::size_t nbytes() const override { return node_.capacity() * sizeof(std::int32_t) + load_.capacity() * sizeof(mesh::Point); }

 private:
  Index nodes_ = 0;
  std::vector<std::int32_t> node_;
  std::vector<mesh::Point> load_;
};

/// The wind at the nodes, and for quadratic drag their velocities: such drag is linear in the velocity if the relative speed is
/// taken from the last `update`.
class Wind {
 public:
  explicit Wind(Index nodes) : nodes_(nodes), values_(2 * nodes_, mesh::Point::Zero()) {}
  /// One value for all nodes, or one for each; m/s. An empty argument changes nothing.
  void set(std::span<const mesh::Point> wind, std::span<const mesh::Point> velocities);
  const mesh::Point& at(std::size_t node) const { return values_[node]; }
  /// Wind minus velocity at the last update.
  const mesh::Point& relative(std::size_t node) const { return values_[nodes_ + node]; }
  /// Both, as of the last update.
  std::span<double> memory() { return doubles_of(values_); }
  std::size_t nbytes() const { return values_.capacity() * sizeof(mesh::Point); }

 private:
  std::size_t nodes_;
  /// The wind at each node, then the wind minus velocity at each.
  std::vector<mesh::Point> values_;
};

/// Isotropic drag: F = c (wind - v), or c |wind - v| (wind - v).
class Drag final : public Force {
 public:
  /// Coefficients per node, N s/m, or N s^2/m^2 for quadratic drag.
  Drag(std::span<const double> coefficients, bool quadratic);

  Wind& wind() { return wind_; }

  Index nodes() const override { return static_cast<Index>(coefficient_.size()); }
  double energy(std::span<const mesh::Point>) const override { return 0; }
  bool conservative() const override { return false; }
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point>, Tangent) override {}
  void add_differentials(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return only_damping; }
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { in_step_ = false; }
  bool has_drag() const override { return true; }
  double add_drag(std::span<const mesh::Point> v, std::span<mesh::Point> f) const override;
  void linearise_drag(std::span<const mesh::Point> v) override;
  std::span<double> memory() override { return wind_.memory(); }
  std::size_t nbytes() const override {
    return coefficient_.capacity() * sizeof(double) + wind_.nbytes() + relative_.capacity() * sizeof(mesh::Point);
  }

 private:
  double coefficient(std::size_t node) const {
    return quadratic_ ? coefficient_[node] * wind_.relative(node).norm() : coefficient_[node];
  }
  /// Minus the derivative of the drag with respect to the velocity, in a step.
  Block3 slope(std::size_t node) const;

  std::vector<double> coefficient_;
  bool quadratic_;
  Wind wind_;
  bool in_step_ = false;
  /// Wind minus velocity at the last `linearise_drag`.
  std::vector<mesh::Point> relative_;
};

}  // namespace meniscus::solids
