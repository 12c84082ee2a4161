/// Barriers and lagged friction between nodes and solids on given paths.
///
/// The energy of a node at the distance d < h from a solid is the stiffness times b of d^2 / h^2 (`barrier_function`); friction
/// is that of the forces where it was lagged, against the motion of the solid there.
///
/// Source: Li et al., "Incremental Potential Contact", 2020, sections 4 and 5; distances of nodes to solids in place of those of
/// pairs.
#pragma once

#include "meniscus/collision/barrier/barrier_friction.hpp"
#include "meniscus/solids/contact/implicit_solid.hpp"
#include "meniscus/solids/force.hpp"

#include <limits>
#include <memory>
#include <vector>

namespace meniscus::solids {

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

/// Part of the certified way to the first contact that a step takes.
inline constexpr double part_of_way = 0.9;

class SolidBarrier {
 public:
  using Solids = std::vector<std::shared_ptr<const ImplicitSolid>>;

  /// Of those of the first `bodies` nodes that yield, with an activation distance in m.
  SolidBarrier(Solids solids, const collision::ContactNodes& nodes, Index bodies, double activation);

  double activation() const { return activation_; }
  bool moves() const;

  /// Finds the nodes near solids at the positions x of all nodes. False where one is not outside.
  bool find(ConstPoints x, double time);
  /// Of the nodes found: their number, counted for each solid, and the least distance, m; infinite without any.
  Index size() const;
  double least_distance() const;

  /// Of the nodes found, for a stiffness of 1 J.
  double energy() const;
  void add_forces(double stiffness, Points out) const;

  /// Takes the friction of the nodes found, with the motion of solids in the dt seconds before a time.
  void lag(double stiffness, ConstPoints x, double time, double dt);
  Index rubbing() const { return static_cast<Index>(rubbing_.size()); }
  /// For displacements x - start since the start of the step.
  double friction_energy(ConstPoints x, ConstPoints start, double slip) const;
  void add_friction(ConstPoints x, ConstPoints start, double slip, Points out) const;

  /// Stores the second derivative, of barriers across the solids only: their own curvature, which a barrier makes negative, is
  /// left out.
  void linearise(double stiffness, ConstPoints x, ConstPoints start, double slip);
  void add_product(ConstPoints u, double factor, Points out) const;
  void add_diagonal(double factor, std::span<Block3> out) const;
  /// Adds `factor` times the change of the derivative by a part of the motion of solids in the dt seconds before a time.
  void add_given(double stiffness, ConstPoints x, double time, double dt, double factor, Points out) const;

  /// How much of the straight way between positions at two times nodes may go: 0.9 of that to the surface of a solid that one
  /// would end in, as if that was a plane; where they would only pass through one, the way to a place within it, which then
  /// counts.
  double free_part(ConstPoints from, ConstPoints to, double now, double then) const;

 private:
  /// Nodes within the activation distance of a solid.
  struct Near {
    std::vector<std::int32_t> nodes;
    std::vector<mesh::Point> points, normals;
    std::vector<double> distance;
  };
  struct Rubbing {
    std::int32_t node;
    /// How far the solid goes there in the step, m.
    mesh::Point carried;
    collision::LaggedFriction contact;
  };
  double slope(double distance) const;
  double curvature(double distance) const;
  /// The nodes in the box of a solid, grown by the activation distance, with their distances.
  void measure(std::size_t solid, ConstPoints x, double time, Near& out) const;
  void carried(std::size_t solid, ConstPoints x, double time, double dt, Points out) const;
  /// The part of alpha of the way at whose end no node is in a solid, one step of the search.
  double outside(ConstPoints from, ConstPoints to, double now, double then, double alpha) const;
  /// The part of a way at which a node is first found within a solid, 1 if none is.
  double outside_until(ConstPoints from, ConstPoints to, double now, double then, double alpha) const;
  double first_inside(std::size_t solid, ConstPoints from, ConstPoints to, double now, double span, double alpha,
                      double first) const;

  Solids solids_;
  std::vector<std::int32_t> nodes_;
  double activation_;
  std::vector<Near> near_;
  std::vector<Rubbing> rubbing_;
  /// Blocks of the nodes `touched_`, ascending.
  std::vector<Block3> blocks_;
  std::vector<std::int32_t> touched_;
  mutable Near scratch_;
  mutable std::vector<mesh::Point> places_, ways_, velocities_;
  mutable std::vector<double> reach_, until_, depth_;
  mutable std::vector<std::int32_t> rows_;
};

}  // namespace meniscus::solids
