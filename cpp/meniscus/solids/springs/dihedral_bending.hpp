/// Bending of shells by the angle between two triangles with a common edge.
///
/// The angle is 0 where the two lie in a plane and positive where they are folded towards the side of their normals. Its
/// gradients with respect to the four nodes are the bending mode, which no rigid motion and no stretch in the plane excites.
///
/// Sources: Bridson, Marino and Fedkiw, "Simulation of clothing with folds and wrinkles", 2003, section 4 (mode, force, damping);
/// Grinspun et al., "Discrete shells", 2003 (energy of the angle); Selle 2008, section 5.3.3.
#pragma once

#include "meniscus/solids/springs/altitude_springs.hpp"

namespace meniscus::solids {

/// The moment of a hinge with stiffness k (N m) at angle a and rest angle a0; |e| is the length of the edge and A1, A2 are the
/// areas.
enum class BendingLaw : std::int8_t {
  /// k |e0|^2 / (2 A1 + 2 A2) (a - a0) with the rest lengths and areas: the derivative of an energy.
  shell,
  /// The same with sin(a / 2) - sin(a0 / 2), likewise the derivative of an energy.
  sine,
  /// As printed by Bridson et al.: sin(a / 2) - sin(a0 / 2), with the present lengths and areas. No energy has this force.
  bridson,
};

class DihedralBending final : public Force {
 public:
  struct Parameters {
    /// i, j, k, l: the edge, the corner of the triangle that passes it from i to j, and that of the other one.
    std::span<const FourNodes> hinges;
    /// Radians.
    std::span<const double> rest_angle;
    BendingLaw law;
    /// Triangles below this multiple of their rest area have no angle, and their hinges no force.
    double collapsed;
  };

  /// Angle of a hinge, its gradients with respect to the nodes (as in `hinges`), and intermediate values.
  struct Hinge {
    bool live = false;
    double angle = 0;
    double length = 0;
    mesh::Point edge = mesh::Point::Zero();
    std::array<mesh::Point, 2> normal;
    std::array<double, 2> area;
    std::array<mesh::Point, 4> mode;
  };

  /// Per hinge k (N m), and damping (N s): the force is -damping |e| (rate of the angle) times the mode; or fractions of critical
  /// damping at rest. The stiffness is no stiffness per length, and hinges have no law of stress.
  DihedralBending(const Parameters& parameters, const SpringOptions& options, std::span<const mesh::Point> rest);

  Index size() const { return static_cast<Index>(hinges_.size()); }
  std::span<const FourNodes> hinges() const { return hinges_; }
  std::span<const double> rest_angles() const { return rest_angle_; }
  static Hinge hinge(const FourNodes& nodes, std::span<const mesh::Point> x, double min_first_area, double min_second_area);
  /// Change of the gradients of a live hinge whose nodes are at c and move by d.
  static std::array<mesh::Point, 4> mode_change(const Hinge& h, const std::array<mesh::Point, 4>& c,
                                                const std::array<mesh::Point, 4>& d);
  /// Not live where a triangle has collapsed.
  Hinge hinge(Index i, std::span<const mesh::Point> x) const;
  /// The angles of all hinges, in parallel.
  void angles(std::span<const mesh::Point> x, std::span<double> out) const;
  /// The angles of given hinges. Throws InvalidArgument for nodes that are not there.
  static void angles(std::span<const FourNodes> hinges, std::span<const mesh::Point> x, std::span<double> out);

  Index nodes() const override { return gather_.nodes(); }
  double energy(std::span<const mesh::Point> x) const override;
  bool conservative() const override { return law_ != BendingLaw::bridson; }
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return damped_; }
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point> x) const override;
  /// The fastest change of an angle, 1/s.
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override;
  /// Until `end_step`, damping, the weights of `BendingLaw::bridson` and which triangles have collapsed are those at x. The law
  /// by Bridson et al. then has an energy as well.
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { in_step_ = false; }
  std::size_t nbytes() const override;

 private:
  struct Linear {
    std::array<mesh::Point, 4> mode;
    double stiffness = 0;
    double moment = 0;
    double damping = 0;
    bool live = false;
  };
  /// Common values of a hinge; not live where a triangle has collapsed.
  struct Bend {
    bool live = false;
    double angle = 0;
    double length = 0;
    std::array<double, 2> area{};
    std::array<mesh::Point, 4> mode{mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero()};
  };
  /// Calls body(i, bend) for the hinges [begin, end), one after the other.
  template <class Body>
  void for_bends(Index begin, Index end, std::span<const mesh::Point> x, Body&& body) const;
  template <class Coefficient>
  void add_bounds(std::span<const mesh::Point> x, std::span<double> bounds, Coefficient&& coefficient) const;
  bool is_live(std::size_t i, double first_area, double second_area, double length) const;
  double weight(std::size_t i, const Bend& h) const;
  double stress(std::size_t i, double angle) const;
  double slope(double angle) const;
  double damping(std::size_t i, const Bend& h) const;
  std::array<mesh::Point, 4> geometric(std::size_t i, const std::array<mesh::Point, 4>& dx) const;

  std::vector<FourNodes> hinges_;
  std::vector<double> stiffness_;
  std::vector<double> damping_;
  std::vector<double> inverse_mass_;
  std::vector<double> rest_angle_;
  /// |e0|^2 / (|n1| + |n2|) with |n| = 2 A; 0 where a rest triangle has no area.
  std::vector<double> rest_weight_;
  /// The least |n| of the two triangles.
  std::vector<std::array<double, 2>> min_areas_;
  BendingLaw law_;
  bool damped_;
  ElementGather<4> gather_;
  std::vector<mesh::Point> x_;
  std::vector<Linear> linear_;
  Tangent tangent_ = Tangent::exact;
  bool in_step_ = false;
  /// At the start of the step; `weight` is that of the moment.
  struct Start {
    std::array<mesh::Point, 4> mode;
    double damping = 0;
    double weight = 0;
    bool live = false;
  };
  std::vector<Start> start_;
  mutable std::vector<mesh::Point> contribution_;
};

}  // namespace meniscus::solids
