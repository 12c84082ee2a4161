/// Steps of a reduced body, in stages: `predict` finds velocities at the end of the step, impulses change them, `finish` moves
/// the body.
///
/// Coordinates q and their rates v are in axes of a frame that is held or flies. A frame that flies keeps momentum and angular
/// momentum, which forces and impulses alone change; its angular velocity follows from them. The equations of the coordinates are
/// those of Lagrange,
///
///     d/dt (v + w . A) = w . (dJ/dq) w / 2 - w . A(v) - gradient(q) - (a + b K) v + U^T R^T f.
///
/// Impulses act with the inverse mass of the step, 1 / (1 + dt/2 D + dt^2/4 K) for Newmark's method: what an impulse changes of
/// the velocities at the end of the step if it acts during the whole step. So contact does not excite what the step damps.
///
/// Sources: Barbic and James 2005, section 5; Newmark, "A method of computation for structural dynamics", 1959.
#pragma once

#include "meniscus/solids/reduced/reduced_model.hpp"

namespace meniscus::solids {

enum class ReducedMethod : std::int8_t {
  /// Newmark's method with average acceleration (the trapezoid rule): second order, and no damping.
  newmark,
  /// First order; damps what is fast.
  implicit_euler,
  /// Each vector of the basis as an oscillator, whose equation is solved exactly for forces that are constant during the step.
  recurrence,
};

struct ReducedStep {
  double dt = 0;  ///< s
  ReducedMethod method = ReducedMethod::newmark;
  /// 1/s and s: damping D = a M + b K with the stiffness at rest.
  double mass_damping = 0, stiffness_damping = 0;
  mesh::Point gravity = mesh::Point::Zero();  ///< m/s^2
  /// Of the residual, in parts of the velocities and of what forces change of them.
  double tolerance = 1e-10;
  int max_iterations = 50;
  /// Takes what there is after so many iterations, whatever the residual; where it is not finite, the body goes on as it was.
  bool bounded = false;
};

struct ReducedStepInfo {
  int iterations = 0;
  double residual = 0;
  bool converged = false;
};

/// What nodes may do at most, about.
struct ReducedBounds {
  double speed = 0;         ///< m/s
  double displacement = 0;  ///< m
  double largest_row = 0;   ///< of the model
  double reach = 0;         ///< of the model, m
};

/// The orientation after turning about a vector (rad) in axes of the body.
Eigen::Quaterniond turned_in_frame(const Eigen::Quaterniond& q, const Eigen::Vector3d& turn);

/// A point by its nodes and their weights; an impulse at it acts on all of them.
struct ReducedPoint {
  std::span<const std::int32_t> nodes;
  std::span<const double> weights;
};

class ReducedMotion {
 public:
  ReducedMotion(std::shared_ptr<const ReducedModel> model, std::shared_ptr<ReducedForces> forces);

  const ReducedModel& model() const { return *model_; }
  ReducedForces& forces() { return *forces_; }

  /// Takes over a state: coordinates, rates, frame.
  void load(std::span<const double> q, std::span<const double> v, const RigidState& frame);
  /// Clears the loads, then adds forces (N, in space) at nodes.
  void clear_loads();
  void add_loads(std::span<const std::int32_t> nodes, std::span<const mesh::Point> forces);

  /// Sets velocities at the end of the step; the loaded state stays what it was at its start. Impulses from now on act during the
  /// step.
  ReducedStepInfo predict(const ReducedStep& step);
  /// Moves the body with the velocities that it has now.
  void finish();
  /// Changes the velocities (of the centre and turn, in axes of the frame, unless held; rates) and the momenta that belong to
  /// them (kg m/s and kg m^2/s, in axes of the frame; the rest of `momenta` is not read), and moves the body with them. With
  /// implicit Euler, it moves by the changes times dt.
  void finish_with(const Eigen::VectorXd& velocities, const Eigen::VectorXd& momenta);
  /// Cuts velocities and coordinates, between steps.
  void bound(const ReducedBounds& bounds);
  /// Impulses from now on act at once; or during `dt` seconds, for a body whose stiffness, as at rest, and damping (1/s and s, as
  /// for a step) resist them meanwhile.
  void prepare_impulses(double dt = 0, double mass_damping = 0, double stiffness_damping = 0);

  /// State: the current one, between `predict` and `finish` with the velocities of the end of the step.
  const Eigen::VectorXd& coordinates() const { return q_; }
  const Eigen::VectorXd& rates() const { return v_; }
  const RigidState& frame() const { return frame_; }
  /// Coordinates and frame where `finish` would move the body.
  const Eigen::VectorXd& next_coordinates();
  RigidState next_frame();
  /// Places in space of all nodes now, and of some nodes where `finish` would move them; velocities of all nodes, m/s.
  void positions(std::span<mesh::Point> out) const;
  void next_positions(std::span<const std::int32_t> nodes, std::span<mesh::Point> out);
  void velocities(std::span<mesh::Point> out);

  /// J, the energy of coordinates and frame: kinetic and elastic.
  std::array<double, 2> energy();
  /// rad/s, in axes of the frame.
  Eigen::Vector3d angular_velocity();
  /// Of the centre of mass and the frame, m/s and rad/s in space; without effect on a frame that is held.
  void set_velocity(const mesh::Point& linear, const mesh::Point& angular);

  /// The generalised directions of a point (3, 6 + r, or 3, r for a held frame), in axes of the frame: its velocity is R times
  /// this times the velocities of the body.
  void directions(const ReducedPoint& point, ThreeRows& out);
  /// The velocities of the body: of the centre and turn, in axes of the frame, unless held; rates.
  void generalised_velocity(Eigen::VectorXd& out);
  /// Solves with the generalised mass.
  void solve_mass(Eigen::MatrixXd& columns) const;
  /// Adds velocities of the body, as impulses would; those of the centre and turn in axes of the frame.
  void add_velocity(const Eigen::VectorXd& change);
  /// Moves the body, at the same momenta and rates; the way of the centre and the turn in axes of the frame.
  void displace(const Eigen::VectorXd& way);
  /// Of the mass with which impulses act.
  const Eigen::LLT<Eigen::MatrixXd>& mass_factor() const { return mass_factor_; }
  /// Adds an impulse at a point, kg m/s in space.
  void apply_impulse(const ReducedPoint& point, const mesh::Point& impulse);
  Index degrees() const { return model_->size() + (model_->held() ? 0 : 6); }
  Eigen::Matrix3d rotation() const { return frame_.orientation().toRotationMatrix(); }

 private:
  /// Angular velocity in axes of the frame, at coordinates and rates.
  Eigen::Vector3d turn_rate(const Eigen::VectorXd& q, const Eigen::VectorXd& v, const Eigen::Quaterniond& orientation,
                            const Eigen::Vector3d& momentum, ThreeRows& coupling);
  /// The angular velocity in the middle of a step, whose coordinates and rates are set, in axes of the frame.
  Eigen::Vector3d turn_in_step(const Eigen::Vector3d& momentum_end);
  /// After iterations that have not converged.
  ReducedStepInfo taken(ReducedStepInfo info);
  /// Sets `turning_` to the forces of the turning frame in the middle of the step, less the change of w . A divided by dt.
  void set_turning_terms(const Eigen::Vector3d& end_momentum);
  void factor_mass();
  ReducedStepInfo solve_step();
  ReducedStepInfo solve_recurrence();
  void set_oscillators();

  std::shared_ptr<const ReducedModel> model_;
  std::shared_ptr<ReducedForces> forces_;
  ReducedStep step_;
  bool in_step_ = false;
  RigidState frame_;                                // with momenta of the end of a step that is going on
  Eigen::Vector3d start_momentum_, start_angular_;  // those of its start
  Eigen::VectorXd q_, v_, start_v_, predicted_v_, predicted_q_, position_factor_;
  Eigen::VectorXd load_, load_now_;
  Eigen::Vector3d load_force_, load_torque_;
  // Scratch.
  Eigen::VectorXd q1_, v1_, middle_q_, middle_v_, gradient_, start_gradient_, turning_, start_coupling_, end_coupling_, residual_,
      change_, trial_, damping_, generalised_, response_, rate_force_;
  Eigen::MatrixXd stiffness_, effective_, mass_, products_;
  ThreeRows coupling_, directions_;
  Eigen::LLT<Eigen::MatrixXd> mass_factor_, step_factor_;
  Eigen::PartialPivLU<Eigen::MatrixXd> step_lu_;
  // Of the exact solution of the oscillators: q1 = a q + b v + c f, v1 = d q + e v + g f.
  Eigen::Matrix<double, Eigen::Dynamic, 6> oscillators_;
};

}  // namespace meniscus::solids
