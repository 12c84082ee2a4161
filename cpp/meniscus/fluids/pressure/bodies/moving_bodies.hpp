/// Thick bodies that the pressure of a fluid moves: their own inertia, what holds them, and the fluid at their surface.
///
/// A body fills fractions of faces. Through the closed part of a face passes the velocity of the body there, J V, and the
/// pressure of the cells beside it pushes the body by the same J: force and torque are the exact adjoint of the volumes.
///
/// Faces carry the fluid of their open parts. What else of the fluid lies between two cell centres, w - a of a cell with the
/// open part a of the face and the volume fraction w around it, moves with the body ("attached"): its weight is what the
/// pressure in cell centres lacks to that at the surface, so that the force on a body at rest is the weight of the liquid that
/// its cut cells displace, to rounding, and its inertia completes that of the faces to all of the fluid.
///
/// Sources: Batty, Bertails and Bridson 2007, section 4, with the areas of cut cells; Guendelman et al. 2005, section 5.1.
#pragma once

#include "meniscus/fluids/pressure/bodies/soft_body.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <array>

namespace meniscus::fluids {

/// A rigid body, or the rigid motion of one that deforms: velocities are that of its centre of mass, and the angular velocity,
/// impulses the same about the centre.
struct MovingBody {
  Eigen::Vector3d center;
  double mass;              ///< kg (kg/m in 2-D); 0: follows its path
  Eigen::Matrix3d inertia;  ///< about the centre, in axes of the world, kg m^2
  Vector6 velocity;         ///< at the start of the solve: with it the walls of the pressure problem move
  Vector6 carried;          ///< velocity of the attached fluid at the start, before anything else has changed that of the body
  Vector6 impulse;          ///< of everything but the fluid and the constraints in this solve
  Eigen::Vector3d
      hydrostatic;  ///< m/s^2, of a gravity that the fluid does not feel: the body loses the weight of what it displaces
  /// Of a convex polyhedron with few faces, half-spaces n . x <= c around the centre, (n, c): its cells are cut exactly, edges
  /// as well. Empty: as the level set has it.
  std::vector<Eigen::Vector4d> planes;
  /// What another solve is expected to change of the velocity: this one happens to a body that has it, and gives it back.
  Vector6 predicted = Vector6::Zero();
  /// Inertia that is known to move with it, beside what `attach` finds.
  Matrix6 added = Matrix6::Zero();
  /// Of a body that deforms, which has the impulses of everything but the fluid in it.
  std::shared_ptr<SoftBody> soft = nullptr;
};

/// What holds bodies: the velocity of a point of one relative to that of another, or to the world, does not change along a
/// direction.
struct BodyConstraint {
  std::array<std::int32_t, 2> bodies;  ///< -1: the world
  std::array<Vector6, 2> rows;
};

class MovingBodies final : public BodyResponse {
 public:
  /// Cells of a region without an outlet from which on its pressure pushes bodies.
  static constexpr Index least_region = 64;
  /// Open part of faces along films between solids that touch. Pressure at rest is that of the liquid around with any; the wider
  /// a film, the less it holds on to what leaves it.
  static constexpr double film_opening = 0.5;
  /// The part of a body's inertia that attached fluid of negative mass leaves at least.
  static constexpr double least_inertia = 0.5;

  /// `free`: zero for freedoms that no body has, as those out of the plane of a 2-D grid.
  MovingBodies(std::vector<MovingBody> bodies, std::vector<BodyConstraint> constraints, const Vector6& free);

  Index count() const override { return static_cast<Index>(bodies_.size()); }
  const MovingBody& body(Index b) const { return bodies_[b]; }

  /// Forgets the fluid of the last solve.
  void begin();
  /// Fluid of this mass, kg, at a place moves with a body along an axis; `row`: the velocity of the place by those of the body.
  /// Its weight is the impulse `weight` along the row, N s.
  void attach(Index body, const Vector6& row, double mass, double weight, const PlaceNodes& place = {}, int axis = 0);
  /// Factors the inertia, and finds the velocities without pressure.
  void factor();
  /// Velocities without pressure, minus those at the start, with which the walls of the pressure problem move: 6 for each body,
  /// and after these 3 for each node of those that deform, whose walls do not move.
  std::span<const double> change() const { return change_; }
  /// Takes the impulses of the pressure: `velocities` and `impulses` are those of the end.
  void finish(std::span<const double> pressure);

  /// Per body, after `finish`: the velocity, and the impulse that the fluid gave.
  const std::vector<Vector6>& velocities_after() const { return after_; }
  const std::vector<Vector6>& impulses() const { return impulses_; }

  /// Inertia of the attached fluid.
  const Matrix6& attached(Index b) const { return attached_[b]; }

  Index velocities() const override { return velocities_; }
  int respond(std::span<const double> f, std::span<double> v) override;
  std::int32_t body_of(Index velocity) const override {
    return velocity < 6 * count() ? static_cast<std::int32_t>(velocity / 6) : of_node_[(velocity - 6 * count()) / 3];
  }
  Vector6 mode(Index velocity) const override;
  double mobility(Index body, int k) override;
  /// Nothing of rigid motions, for which there is a coarse space.
  double yield_alone(Index velocity) const override;
  /// The first velocity of the nodes of a body.
  Index first_node(Index body) const { return first_[body]; }

 private:
  /// Bodies that constraints hold together, and the answer of all of them.
  struct Island {
    std::vector<std::int32_t> bodies;
    Eigen::MatrixXd response;
  };
  void find_islands();
  /// The answer of what constraints leave free: L P L^T, where S^-1 = L L^T and P takes out the span of L^T C^T, to rounding
  /// symmetric however many constraints say the same.
  void hold(Island& island, std::span<const std::int32_t> place, std::span<const std::size_t> constraints) const;

  std::vector<MovingBody> bodies_;
  Index velocities_ = 0;
  std::vector<Index> first_;
  std::vector<std::int32_t> of_node_;
  std::vector<double> unit_, answer_;
  std::vector<BodyConstraint> constraints_;
  Vector6 free_;
  std::vector<Matrix6> attached_, inverse_;
  std::vector<Vector6> weight_, after_, impulses_;
  std::vector<double> change_;
  std::vector<Island> islands_;
};

}  // namespace meniscus::fluids
