/// Deformable body: nodes with positions, velocities and masses, the forces between them, and their constraints.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/solids/constraints.hpp"
#include "meniscus/solids/force.hpp"

#include <memory>
#include <vector>

namespace meniscus::solids {

/// Joules.
struct BodyEnergy {
  double kinetic = 0;
  double elastic = 0;
  /// Potential energy of gravity; zero with all nodes at the origin.
  double gravity = 0;

  double total() const { return kinetic + elastic + gravity; }
};

class GroupHierarchy;

/// State of a body, its forces and constraints. Arrays never move, so views of them stay valid. A node of infinite mass keeps its
/// velocity, whatever acts on it; energies and momenta do not include it.
class DeformableBody {
 public:
  /// Copies both. Throws InvalidArgument for positions that are not finite and masses that are not above zero, naming the first.
  DeformableBody(ConstPoints positions, std::span<const double> masses);
  DeformableBody(const DeformableBody&) = delete;
  DeformableBody& operator=(const DeformableBody&) = delete;

  Index size() const { return masses_.size(); }

  /// Metres, metres per second, kilograms.
  Points positions() { return points(positions_); }
  ConstPoints positions() const { return points(positions_); }
  Points velocities() { return points(velocities_); }
  ConstPoints velocities() const { return points(velocities_); }
  std::span<double> masses() { return {masses_.data(), static_cast<std::size_t>(size())}; }
  std::span<const double> masses() const { return {masses_.data(), static_cast<std::size_t>(size())}; }

  /// Blocks that own the memory of the three.
  const Block<double>& position_block() const { return positions_; }
  const Block<double>& velocity_block() const { return velocities_; }
  const Block<double>& mass_block() const { return masses_; }

  /// m/s^2.
  const mesh::Point& gravity() const { return gravity_; }
  void set_gravity(const mesh::Point& g);

  /// Seconds.
  double time() const { return time_; }
  void set_time(double time);

  const std::vector<std::shared_ptr<Force>>& forces() const { return forces_; }

  /// Throws InvalidArgument for a force that acts on nodes outside of the body, or that was added before.
  void add(std::shared_ptr<Force> force);
  /// Throws InvalidArgument for a force that was not added.
  void remove(const std::shared_ptr<Force>& force);

  /// Whether any force depends on velocities.
  bool damped() const;

  Constraints& constraints() { return constraints_; }
  const Constraints& constraints() const { return constraints_; }

  /// Sets f to all forces at x except gravity; those that depend on the velocity only if v is not empty.
  void forces_at(ConstPoints x, ConstPoints v, Points f) const;

  double elastic_energy(ConstPoints x) const;
  BodyEnergy energy() const;
  /// kg m/s.
  mesh::Point momentum() const;
  /// About a point, kg m^2/s.
  mesh::Point angular_momentum(const mesh::Point& about) const;

  /// The positions before the last step and its length, which the position form of Verlet starts from; 0 where there are none.
  Points previous_positions() { return points(previous_); }
  ConstPoints previous_positions() const { return points(previous_); }
  double previous_dt() const { return previous_dt_; }
  /// Allocates previous positions, whose values the caller sets.
  void keep_previous(double dt);
  void forget_previous() { previous_dt_ = 0; }

  /// Bytes of the state; without the forces.
  std::size_t nbytes() const;

  /// What `GroupHierarchy::of` keeps from step to step.
  std::shared_ptr<const GroupHierarchy>& kept_groups() { return kept_groups_; }

 private:
  static Points points(Block<double>& b) {
    return {reinterpret_cast<mesh::Point*>(b.data()), static_cast<std::size_t>(b.size() / 3)};
  }
  static ConstPoints points(const Block<double>& b) {
    return {reinterpret_cast<const mesh::Point*>(b.data()), static_cast<std::size_t>(b.size() / 3)};
  }

  Block<double> positions_, velocities_, masses_, previous_;
  double previous_dt_ = 0;
  double time_ = 0;
  mesh::Point gravity_ = mesh::Point::Zero();
  std::vector<std::shared_ptr<Force>> forces_;
  Constraints constraints_;
  std::shared_ptr<const GroupHierarchy> kept_groups_;
};

}  // namespace meniscus::solids
