/// Strands as a force between points alone: their twist is that of least energy for any positions.
///
/// The stiffness is that of the positions with the twists eliminated, strand by strand, by one tridiagonal factorisation. Linear
/// solves over several strands, contact and other forces take it like any force.
#pragma once

#include "meniscus/solids/force.hpp"
#include "meniscus/solids/hair/rod_strands.hpp"

namespace meniscus::solids::hair {

class RodForce final : public Force {
 public:
  /// Shares the strands, whose frames are the memory of the force.
  explicit RodForce(std::shared_ptr<RodStrands> strands) : strands_(std::move(strands)), energies_(strands_->strands()) {}

  Index nodes() const override { return strands_->size(); }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
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
  std::span<double> memory() override { return strands_->memory(); }
  std::size_t nbytes() const override;

  const std::shared_ptr<RodStrands>& strands() const { return strands_; }

 private:
  std::shared_ptr<RodStrands> strands_;
  /// Per strand, J.
  mutable core::Block<double> energies_;
  /// Of the last linearisation: the matrix, and the factors of its twists (eight lanes each).
  core::Block<double> matrix_, twists_;
};

}  // namespace meniscus::solids::hair
