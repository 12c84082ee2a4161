/// A deformable body in the pressure of a fluid: its nodes, the inverse of its own implicit step, and its rigid motion.
///
/// Through the closed part of a face passes the velocity of its nodes there (node_places.hpp), and the pressure pushes the nodes
/// by the same weights. The fluid at its surface (moving_bodies.hpp) gives its weight to the nodes where it is, and moves with
/// the rigid motion of the body, that with its momentum and angular momentum: with U = M P (P^T M P)^-1, where P are the motions
/// of the nodes of a rigid body, the step inverts S + U A U^T with the inertia A of that fluid. So fluid of negative mass may
/// exceed what the nodes at the surface weigh.
#pragma once

#include "meniscus/fluids/pressure/bodies/node_places.hpp"
#include "meniscus/fluids/pressure/solid_impulses.hpp"

#include <memory>

namespace meniscus::fluids {

/// A step whose inverse is R R^T, of few columns, as that of a body with few coordinates.
class RootResponse final : public SolidResponse {
 public:
  using Root = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  explicit RootResponse(Root root) : root_(std::move(root)) {}
  Index velocities() const override { return root_.rows(); }
  int respond(std::span<const double> f, std::span<double> v) override {
    const Eigen::Map<const Eigen::VectorXd> from(f.data(), root_.rows());
    Eigen::Map<Eigen::VectorXd>(v.data(), root_.rows()).noalias() = root_ * (root_.transpose() * from).eval();
    return 0;
  }
  double yield_alone(Index velocity) const override { return root_.row(velocity).squaredNorm(); }

 private:
  Root root_;
};

class SoftBody {
 public:
  /// `step`: three velocities for each node. `masses`: kg, infinite for nodes that nothing moves. `start`, `free`: velocities of
  /// the nodes before the step, and after it without fluid. Throws InvalidArgument where these do not fit.
  SoftBody(std::shared_ptr<SolidResponse> step, std::shared_ptr<const NodePlaces> places, std::span<const double> masses,
           std::span<const double> start, std::span<const double> free);

  Index velocities() const { return static_cast<Index>(free_.size()); }
  const NodePlaces& places() const { return *places_; }

  /// Forgets the fluid of the last solve.
  void begin();
  /// Gives an impulse along an axis to the nodes at a place.
  void push(const PlaceNodes& place, int axis, double impulse);
  /// Takes the inertia of the fluid at the surface, which began with the motion `carried`, and that of the body about a centre;
  /// finds the velocities without pressure.
  void factor(const Eigen::Vector3d& center, const Matrix6& inertia, const Matrix6& attached, const Vector6& carried);
  /// v = (S + U A U^T)^-1 f.
  void respond(std::span<const double> f, std::span<double> v);
  /// Velocities without pressure; the walls of the pressure problem do not move with this body.
  std::span<const double> without_pressure() const { return without_; }

  /// Takes the impulses of the pressure: finds what follows.
  void finish(std::span<const double> pressure);
  std::span<const double> velocities_after() const { return after_; }
  const Vector6& motion_after() const { return motion_after_; }
  /// Of the fluid, about the centre.
  const Vector6& impulse() const { return impulse_; }
  /// Of the fluid, on the nodes.
  std::span<const double> given() const { return given_; }
  /// J, of the fluid.
  double work() const { return work_; }
  /// Component along an axis of the velocity at a place, after `finish`.
  double velocity_at(const mesh::Point& place, int axis) const;

  /// Velocity `i` under unit rigid motions.
  Vector6 mode(Index i) const;
  double yield_alone(Index i) const { return step_->yield_alone(i); }
  /// Rigid motion k for a unit impulse of it.
  double mobility(int k) const { return mobility_[k]; }

 private:
  /// The rigid motion U^T v.
  Vector6 motion_of(std::span<const double> v) const;
  /// f += U w.
  void spread(const Vector6& w, std::span<double> f) const;

  std::shared_ptr<SolidResponse> step_;
  std::shared_ptr<const NodePlaces> places_;
  std::vector<double> masses_, start_, free_, weight_, without_, after_, given_, pushed_;
  Eigen::Vector3d center_ = Eigen::Vector3d::Zero();
  Matrix6 inverse_ = Matrix6::Zero(), attached_ = Matrix6::Zero(), taken_ = Matrix6::Zero();
  Vector6 carried_ = Vector6::Zero(), mobility_ = Vector6::Zero(), motion_after_ = Vector6::Zero(), impulse_ = Vector6::Zero();
  double work_ = 0;
  /// S^-1 U.
  Eigen::Matrix<double, Eigen::Dynamic, 6> moved_;
};

}  // namespace meniscus::fluids
