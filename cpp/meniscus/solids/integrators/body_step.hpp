/// Working state of one step of one or several bodies, shared by all integrators. Several bodies are one system: their nodes are
/// numbered one body after the other. Nothing of the bodies changes before `commit`.
#pragma once

#include "meniscus/solids/integrators/held_nodes.hpp"

#include <chrono>

namespace meniscus::solids {

enum class StepTime { start, middle, end };

class BodyStep {
 public:
  /// Throws InvalidArgument for a step that is not positive, for positions, velocities or masses that are not finite (infinite
  /// masses are allowed) and for motions that do not fit the moved nodes of the body, naming the first.
  BodyStep(DeformableBody& body, double dt, const NodeMotion& motion, Workspace& workspace);

  /// The same for several bodies, in their order; `first` of each is set. The list must outlive the step, and have no body twice.
  BodyStep(std::span<BodyInStep> bodies, double dt, Workspace& workspace);

  BodyStep(const BodyStep&) = delete;
  BodyStep& operator=(const BodyStep&) = delete;

  std::span<const BodyInStep> bodies() const { return bodies_; }
  Workspace& workspace() const { return workspace_; }
  Index size() const { return size_; }
  double dt() const { return dt_; }
  bool damped() const { return damped_; }

  /// Whether the time for the step is used up, so that iterations end where they are.
  bool late() const { return Clock::now() > deadline_; }
  using Clock = std::chrono::steady_clock;
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  /// Of all nodes at the start of the step; one body's own, else copies.
  ConstPoints positions() const { return positions_; }
  ConstPoints velocities() const { return velocities_; }

  /// 1/kg; zero for infinite masses.
  double inverse_mass(std::size_t i) const { return inverse_mass_.data()[i]; }
  bool has_infinite_masses() const { return infinite_; }

  /// m/s^2.
  const mesh::Point& gravity(std::size_t i) const { return gravity_memory_ ? gravity_memory_.data()[i] : gravity_; }

  ScratchPoints scratch() const { return ScratchPoints(workspace_, size()); }

  /// Lasting constraints and contacts.
  const HeldNodes& held() const { return held_; }
  ConstraintKind kind(std::size_t i) const { return held_.kind(i); }

  /// Whether forces move a node, in some direction.
  bool moves(std::size_t i) const {
    return kind(i) != ConstraintKind::fixed && kind(i) != ConstraintKind::moved && inverse_mass(i) > 0;
  }

  /// Lets contacts hold nodes along normals from now on, as in `HeldNodes::set_contacts`.
  void set_contacts(std::span<const ContactNormal> contacts) { held_.set_contacts(contacts); }

  /// Lets a drag d act on nodes from now on, in place of the one before: solves over h seconds add the force d m / h (w - v),
  /// with the velocity w of what they rub against, whose part d w callers add to the velocities at the start. Friction, as far as
  /// it is known how fast nodes slip. Throws InvalidArgument for nodes that do not exist, and for drags that are negative or not
  /// finite.
  void set_drags(std::span<const std::int32_t> nodes, std::span<const double> drags);
  bool dragged() const { return dragged_; }
  double drag(std::size_t i) const { return dragged_ ? drags_.data()[i] : 0.0; }

  /// Removes constrained components, and nodes of infinite mass, from a vector per node.
  void project(Points v) const;

  /// Gives nodes in contact the velocity along their normals that `given` has there.
  void hold_contacts(ConstPoints given, Points v) const;

  /// Sets the velocities of constrained nodes to the prescribed values, also across the normals of sliding nodes; contacts have
  /// no part in it, nor in what follows.
  void hold_velocities(StepTime when, Points v) const;

  /// Sets the velocities of moved nodes to their mean velocities along their paths in the step.
  void hold_mean_velocities(Points v) const;

  /// Sets the fixed and the moved nodes to their prescribed positions, bit by bit.
  void hold_positions(StepTime when, Points x) const;

  /// Velocities at the start, with constrained nodes as prescribed.
  void start(Points v) const;

  /// f(force, body) for all forces; of arrays over all nodes, they get the rows of their body.
  template <class F>
  void each_force(F&& f) const {
    for (const BodyInStep& b : bodies_)
      for (const auto& force : b.body->forces()) f(*force, b);
  }
  bool has_forces() const;
  void linearise(ConstPoints x, Tangent tangent) const;
  /// The positions of the last linearisation of all forces, while its caller has them; those at the start before.
  ConstPoints linearised_at() const { return linearised_at_.empty() ? positions_ : linearised_at_; }

  /// a = gravity + (forces at x and v) / mass for free nodes and directions, 0 elsewhere.
  void accelerations(ConstPoints x, ConstPoints v, Points a) const;

  /// Throws InvalidArgument that names the first node whose position or velocity is not finite; returns the largest speed.
  double check(ConstPoints x, ConstPoints v) const;

  /// Makes x and v the state of the bodies at the end of the step, after `check`.
  double commit(ConstPoints x, ConstPoints v);

 private:
  struct Own {
    BodyInStep body;
  };
  BodyStep(std::span<BodyInStep> bodies, const Own& own, double dt, Workspace& workspace);
  static Index number(std::span<BodyInStep> bodies);
  void check_motions() const;
  void gather();

  Own own_;
  std::span<const BodyInStep> bodies_;
  Index size_;
  double dt_;
  Workspace& workspace_;
  Workspace::Lease<double> inverse_mass_;
  Workspace::Lease<mesh::Point> gravity_memory_;
  ScratchPoints position_memory_, velocity_memory_;
  ConstPoints positions_, velocities_;
  mutable ConstPoints linearised_at_;
  mesh::Point gravity_;
  HeldNodes held_;
  Workspace::Lease<double> drags_;
  bool dragged_ = false;
  bool infinite_ = false;
  bool damped_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace meniscus::solids
