/// Working state of one step of a body, shared by all integrators. Nothing of the body changes before `commit`.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/solids/deformable_body.hpp"

#include <chrono>

namespace meniscus::solids {

/// Scratch memory for one vector per node.
class ScratchPoints {
 public:
  ScratchPoints() = default;
  ScratchPoints(Workspace& workspace, Index n) : lease_(workspace.take<mesh::Point>(n)) {}
  operator Points() const { return {lease_.data(), static_cast<std::size_t>(lease_.size())}; }
  operator ConstPoints() const { return {lease_.data(), static_cast<std::size_t>(lease_.size())}; }
  mesh::Point& operator[](std::size_t i) const { return lease_.data()[i]; }

 private:
  Workspace::Lease<mesh::Point> lease_;
};

enum class StepTime { start, middle, end };

class BodyStep {
 public:
  /// Throws InvalidArgument for a step that is not positive, for positions, velocities or masses that are not finite (infinite
  /// masses are allowed) and for motions that do not fit the moved nodes of the body, naming the first.
  BodyStep(DeformableBody& body, double dt, const NodeMotion& motion, Workspace& workspace);

  DeformableBody& body() const { return body_; }
  Workspace& workspace() const { return workspace_; }
  Index size() const { return body_.size(); }
  double dt() const { return dt_; }
  bool damped() const { return damped_; }

  /// Whether the time for the step is used up, so that iterations end where they are.
  bool late() const { return Clock::now() > deadline_; }
  using Clock = std::chrono::steady_clock;
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  /// 1/kg; zero for infinite masses.
  double inverse_mass(std::size_t i) const { return inverse_mass_.data()[i]; }
  bool has_infinite_masses() const { return infinite_; }

  ScratchPoints scratch() const { return ScratchPoints(workspace_, size()); }

  /// Removes constrained components, and nodes of infinite mass, from a vector per node.
  void project(Points v) const;

  /// Sets the velocities of constrained nodes to the prescribed values, also across the normals of sliding nodes.
  void hold_velocities(StepTime when, Points v) const;

  /// Sets the velocities of moved nodes to their mean velocities along their paths in the step.
  void hold_mean_velocities(Points v) const;

  /// Sets the fixed and the moved nodes to their prescribed positions, bit by bit.
  void hold_positions(StepTime when, Points x) const;

  /// Velocities at the start, with constrained nodes as prescribed.
  void start(Points v) const;

  /// a = gravity + (forces at x and v) / mass for free nodes and directions, 0 elsewhere.
  void accelerations(ConstPoints x, ConstPoints v, Points a) const;

  /// Throws InvalidArgument that names the first node whose position or velocity is not finite; returns the largest speed.
  double check(ConstPoints x, ConstPoints v) const;

  /// Makes x and v the state of the body at the end of the step, after `check`.
  double commit(ConstPoints x, ConstPoints v);

 private:
  const mesh::Point& moved(std::size_t k, StepTime when) const;

  DeformableBody& body_;
  double dt_;
  NodeMotion motion_;
  Workspace& workspace_;
  Workspace::Lease<double> inverse_mass_;
  bool infinite_ = false;
  bool damped_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace meniscus::solids
