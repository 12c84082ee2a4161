/// Linear springs between pairs of nodes, with axial damping.
///
/// A spring of length l along the unit vector d pulls its ends together with k (l - l0), or with k l0 times the stress of a
/// piecewise linear law of the strain l / l0 - 1; and with b (relative velocity . d).
///
/// Sources: Selle 2008, section 5.3.1 and equation 5.1 (k = E / l0; damping along the spring only); section 5.5 (frozen
/// directions); Mueller et al., "Real time physics class notes", 2008, sections 3.1 and 3.5.1 (tangent stiffness, with the signs
/// of its blocks corrected: K_ii = K_jj = -K_ij = -K_ji); Choi and Ko, "Stable but responsive cloth", 2002 (definite tangent).
#pragma once

#include "meniscus/solids/force.hpp"
#include "meniscus/solids/springs/sliced_ellpack.hpp"
#include "meniscus/solids/springs/spring_options.hpp"

#include <vector>

namespace meniscus::solids {

/// Force of a spring whose ends coincide (its length is at most 1e-12 of its rest length), so that it has no direction.
enum class AtZeroLength : std::int8_t {
  /// Nothing.
  none,
  /// It keeps the direction that it had when it was last linearised (at first, that of the rest positions).
  last_direction,
};

class EdgeSprings final : public Force {
 public:
  /// Per spring its ends and its rest length (m, may be 0). `directions`, needed for `last_direction` only: one per spring, from
  /// its first to its second end.
  EdgeSprings(std::span<const Ends> ends, std::span<const double> rest_length, const SpringOptions& options,
              AtZeroLength at_zero_length, std::span<const mesh::Point> directions);

  /// Takes other rest lengths (m), spring constants (N/m) and damping coefficients (N s/m); this allocates.
  void set(std::span<const double> rest_length, std::span<const double> stiffness, std::span<const double> damping);

  Index size() const { return static_cast<Index>(ends_.size()); }
  std::span<const Ends> ends() const { return ends_; }
  std::span<const double> rest_length() const { return rest_length_; }
  std::span<const double> stiffness() const { return stiffness_; }
  std::span<const double> damping() const { return damping_; }

  Index nodes() const override { return slices_.nodes(); }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return damped_ || last_direction_; }
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_tangent(std::span<const mesh::Point> u, double stiffness_scale, double damping_scale,
                   std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  std::span<const Ends> coupled() const override { return ends_; }
  void couplings(double stiffness_scale, double damping_scale, std::span<Coupling> out) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point> x) const override;
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override;
  /// Until `end_step`, springs are damped along their directions at x, and springs without length keep these.
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { in_step_ = false; }
  /// The directions that springs without length keep; empty unless they do.
  std::span<double> memory() override { return doubles_of(direction_); }
  std::size_t nbytes() const override;

 private:
  struct State {
    mesh::Point direction;
    double length;
    bool live;
  };
  struct Stiffness {
    double along;
    double across;
  };
  State state(std::size_t spring, std::span<const mesh::Point> x) const;
  double strain(std::size_t spring, double length) const;
  double tension(std::size_t spring, double length) const;
  Stiffness tangent_stiffness(std::size_t spring, const State& s) const;

  SlicedEllpack slices_;
  StressStrain law_;
  bool last_direction_;
  bool plain_;
  bool damped_;
  std::vector<Ends> ends_;
  std::vector<double> rest_length_;
  std::vector<double> stiffness_;
  std::vector<double> damping_;
  /// The same per half spring.
  std::vector<double> half_rest_length_;
  std::vector<double> half_stiffness_;
  std::vector<double> half_damping_;
  /// Positions of the linearisation; the lanes recompute lengths and directions, which is cheaper than reading them.
  std::vector<mesh::Point> x_;
  Tangent tangent_ = Tangent::exact;
  std::vector<mesh::Point> direction_;
  bool in_step_ = false;
  /// Positions at the start of the step, if there is damping.
  std::vector<mesh::Point> start_;
  /// Those of the damping.
  const std::vector<mesh::Point>& damped_at() const { return in_step_ ? start_ : x_; }
};

}  // namespace meniscus::solids
