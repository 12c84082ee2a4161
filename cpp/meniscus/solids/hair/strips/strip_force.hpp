/// Strips of altitude-spring hair as a force between points, for steps and worlds that take all forces together.
#pragma once

#include "meniscus/solids/force.hpp"
#include "meniscus/solids/hair/strips/strip_strands.hpp"

namespace meniscus::solids::hair::strips {

class StripForce final : public Force {
 public:
  /// Shares the strands.
  explicit StripForce(std::shared_ptr<StripStrands> strands) : strands_(std::move(strands)), energies_(strands_->strands()) {}

  Index nodes() const override { return strands_->size(); }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  /// Allocates at the first call.
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return false; }
  void add_damping(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return {0, 0}; }
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override {
    return strands_->strain_rate(x, v);
  }
  std::size_t nbytes() const override;

  const std::shared_ptr<StripStrands>& strands() const { return strands_; }

 private:
  std::shared_ptr<StripStrands> strands_;
  mutable core::Block<double> energies_;
  core::Block<double> matrix_;
};

}  // namespace meniscus::solids::hair::strips
