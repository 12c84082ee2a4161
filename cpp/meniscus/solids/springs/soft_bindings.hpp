/// Springs of length zero between embedded points: each end is a weighted mean of nodes, or a point that is prescribed.
///
/// The force on one end is -k (x_a - x_b) - b (v_a - v_b), with damping in all directions because there is none along the spring,
/// and goes to the parents of the end by their weights. It is linear in positions and velocities, so that all tangents are exact
/// and one linear solve takes a step.
///
/// Sources: Lee 2018, sections 2.3.1 and 2.3.2; Sifakis, Shinar, Irving and Fedkiw, "Hybrid simulation of deformable solids",
/// 2007.
#pragma once

#include "meniscus/solids/force.hpp"
#include "meniscus/solids/springs/spring_options.hpp"

#include <vector>

namespace meniscus::solids {

class SoftBindings final : public Force {
 public:
  /// Parents of one end: `width` nodes and weights for each binding; nodes below 0 are not used.
  struct End {
    std::span<const std::int32_t> node;
    std::span<const double> weight;
    std::size_t width;
  };

  /// Without parents (width 0), the second end of each binding is a target.
  /// Bindings have no length and no law of stress.
  SoftBindings(const End& first, const End& second, const SpringOptions& options, std::span<const mesh::Point> targets);

  Index size() const { return static_cast<Index>(stiffness_.size()); }
  std::span<const double> damping() const { return damping_; }
  /// Positions (m) and velocities (m/s) of prescribed ends.
  void set_targets(std::span<const mesh::Point> positions, std::span<const mesh::Point> velocities);
  std::span<const mesh::Point> targets() const { return target_; }
  std::span<const mesh::Point> target_velocities() const { return target_velocity_; }
  /// The vectors from the second to the first end.
  void gaps(std::span<const mesh::Point> x, std::span<mesh::Point> out) const;

  Index nodes() const override { return static_cast<Index>(node_start_.size()) - 1; }
  double energy(std::span<const mesh::Point> x) const override;
  /// Targets may move, and then do work.
  bool conservative() const override { return target_.empty(); }
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point>, Tangent) override {}
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return damped_; }
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point> x) const override;
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  std::size_t nbytes() const override;

 private:
  struct Term {
    std::int32_t index;
    double weight;
  };
  mesh::Point difference(std::size_t binding, std::span<const mesh::Point> x) const;
  /// total[node] += scale * (sum of weight times `value_` over the bindings of the node).
  void add_bounds(std::span<const double> coefficients, std::span<double> bounds) const;
  void spread(double scale, std::span<mesh::Point> total) const;

  /// Nodes of each binding, with the weights of the second end negative.
  std::vector<std::size_t> start_;
  std::vector<Term> term_;
  /// Bindings of each node.
  std::vector<std::size_t> node_start_;
  std::vector<Term> node_term_;
  std::vector<double> stiffness_;
  std::vector<double> damping_;
  std::vector<mesh::Point> target_;
  std::vector<mesh::Point> target_velocity_;
  bool damped_;
  mutable std::vector<mesh::Point> value_;
};

}  // namespace meniscus::solids
