/// Barriers of contact as a term of the potential of a step: between surfaces, whose vertices hang in nodes, and between nodes
/// and solids, with lagged friction. All nodes of bodies come first, then those that go given ways (obstacles), which are no
/// unknowns.
///
/// Obstacles, solids and moved nodes go their ways in parts: `fraction` of them up to now. What is evaluated may be farther on
/// the way (`advance`), until the bodies arrive there.
///
/// Sources: Li et al., "Incremental Potential Contact", 2020, sections 3 to 5; Selle 2008, section 6.4 (paths between positions).
#pragma once

#include "meniscus/solids/contact/solid_barrier.hpp"
#include "meniscus/solids/integrators/potential_term.hpp"

#include <functional>
#include <limits>
#include <utility>

namespace meniscus::solids {

/// What touches; all outlive the contact.
struct ContactSurfaces {
  collision::CollisionMesh* mesh;
  const collision::ContactNodes* nodes;
  collision::Barrier* barrier;
  /// Coefficients of the vertices.
  std::span<const double> friction;
};

/// Motion of what is no body: positions of all nodes at the start of the step and at the end of their ways (of bodies: where
/// these lead nodes that forces do not move), m; s.
struct GivenWays {
  ConstPoints start, end;
  double time, dt;
};

struct BarrierStepOptions {
  /// J; 0: grows from what the caller sets, twofold where surfaces come nearer than `least_part` of their activation distance, up
  /// to 2^20 times the least.
  double fixed_stiffness = 0;
  double least_part = 0.05;
  /// Activation distance at solids, m.
  double activation = 0.01;
  /// Speed below which friction holds with less than its full force, m/s.
  double slip_speed = 1e-3;
  /// Newton's method ends when no node would move faster by a step of it, m/s; 0: 1e-3 of the speed that gravity gives in the
  /// step, plus that of the fastest node at its start, or that of the fastest node now; at most `most` (m/s).
  double tolerance = 0;
  double most = std::numeric_limits<double>::infinity();
  /// Of linear solves, relative.
  double linear_tolerance = 1e-3;
  int max_linear_iterations = 2000;
  /// In how many moves at most what goes given ways comes to their ends.
  int increments = 100;
};

class BarrierContact final : public PotentialTerm {
 public:
  /// `bodies`: number of the nodes of bodies. Throws InvalidArgument for other lengths.
  BarrierContact(const ContactSurfaces& surfaces, SolidBarrier::Solids solids, const GivenWays& ways, Index bodies,
                 const BarrierStepOptions& options);

  double evaluate(ConstPoints x, Points forces) override;
  void linearise() override;
  void add_product(ConstPoints u, double factor, Points out) override;
  void add_diagonal(double factor, std::span<Block3> out) override;
  void add_given(double factor, Points out) override;
  double free_part(ConstPoints from, ConstPoints to) override;
  bool is_free(ConstPoints from, ConstPoints to) override;
  bool arrive(ConstPoints x) override;

  /// Takes the friction of the pairs at x, with forces of a stiffness; returns their number.
  Index lag(ConstPoints x, double stiffness);
  /// Adds the forces of the barriers that were evaluated last, without friction, to those of all nodes.
  void add_barrier_forces(double stiffness, Points all);

  double stiffness() const { return stiffness_; }
  double fixed_stiffness() const { return options_.fixed_stiffness; }
  /// Sets it, and the least that it may have; both J.
  void set_stiffness(double stiffness, double least);

  double fraction() const { return now_; }
  /// Whether anything goes a given way.
  bool moves() const;
  /// Looks at how far nodes may go while the others go all of the rest of their ways, or none of it.
  void aim(bool at_end) { aims_ = at_end; }
  /// Puts what goes given ways a part of the rest of these farther, until `retreat` or `come`.
  void advance(double part);
  void retreat();
  /// Tells that bodies are at x with what goes given ways there.
  void come(ConstPoints x);
  /// Puts it at the ends of its ways, where nothing moves.
  void skip_to_end() { now_ = trial_ = 1; }
  /// Speed of the fastest obstacle up to now, m/s, and its largest way in a direction, m.
  double fastest() const;
  double largest_way() const;

  /// Of the positions that were evaluated last: least distance (m), and that relative to the activation distance.
  std::pair<double, double> closest() const;
  const SolidBarrier& solids() const { return solids_; }
  Index friction_pairs() const { return friction_.size() + solids_.rubbing(); }

  /// Positions of all nodes, the bodies' at x.
  void all(ConstPoints x, Points out) const;

  /// Called with the positions of all nodes after each move.
  std::function<void(ConstPoints)> on_iterate;

 private:
  double when(double fraction) const { return ways_.time + fraction * ways_.dt; }
  bool can_touch() const;
  /// Vertices with bodies at x and the rest at a fraction of their ways.
  void vertices(ConstPoints x, double fraction, std::span<mesh::Point> out);
  mesh::Point given(std::size_t i, double fraction) const;

  ContactSurfaces surfaces_;
  SolidBarrier solids_;
  GivenWays ways_;
  Index bodies_;
  BarrierStepOptions options_;
  /// Displacement below which friction holds with less than its full force, m.
  double slip_;
  collision::BarrierFriction friction_;
  double stiffness_ = 0, least_stiffness_ = 0;
  double now_ = 0, trial_ = 0, closest_part_;
  bool aims_ = false;
  std::vector<std::uint8_t> yielding_;
  /// Positions of the bodies' nodes that were evaluated last.
  std::vector<mesh::Point> evaluated_;
  /// Of all nodes; of the vertices at the start, where they were evaluated, and elsewhere; displacements.
  std::vector<mesh::Point> all_, start_, at_, there_, moved_, sums_;
  std::vector<Block3> blocks_;
};

}  // namespace meniscus::solids
