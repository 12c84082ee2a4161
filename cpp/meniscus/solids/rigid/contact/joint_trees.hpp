/// Joints that close no loop, solved at once along their trees: as many operations as there are joints.
///
/// Sources: Featherstone, "Rigid body dynamics algorithms", 2008, chapter 7 (inertias of what hangs on a joint); Baraff,
/// "Linear-time dynamics using Lagrange multipliers", 1996 (elimination from the leaves to the root); Cline and Pai 2003 (errors
/// of places removed whole after the step).
#pragma once

#include "meniscus/solids/rigid/contact/islands.hpp"
#include "meniscus/solids/rigid/contact/joint.hpp"

#include <utility>

namespace meniscus::solids {

/// A body of a tree, and the joint towards the root.
struct TreeLink {
  std::int32_t body = 0, joint = -1, parent = -1;  ///< -1: the root is free; the root does not move
  std::size_t side = 0;                            ///< of the joint on which the body is
};

class JointTrees {
 public:
  /// Finds the trees: what forces do not move is one body, their root. `moves` marks the bodies that forces move.
  void build(std::span<const Joint> joints, std::span<const std::uint8_t> moves);
  /// Prepares solves with the rows of a step.
  void factor(std::span<const JointRows> rows, std::span<const WorldInertia> inertias);
  bool contains(std::size_t joint) const { return in_tree_[joint] != 0; }
  /// Marks the bodies of each tree of which one is marked.
  void spread(std::span<std::uint8_t> marks) const;
  std::size_t size() const { return trees_.size() - 1; }
  std::size_t links() const { return links_.size(); }
  const TreeLink& link(std::size_t i) const { return links_[i]; }
  /// The links of a tree, from the root on.
  std::pair<std::size_t, std::size_t> extent(std::size_t tree) const { return {trees_[tree], trees_[tree + 1]}; }
  /// Applies the impulses after which all rows of all trees have the relative velocity of their targets, and adds them to
  /// `memory`; where that is empty, -`pull` times their errors (1/s). Only of trees with marked bodies.
  void solve(std::span<const Joint> joints, std::span<const JointRows> rows, double pull, std::span<const std::uint8_t> marks,
             std::span<RigidVelocity> velocities, std::span<JointMemory> memory);
  Index nbytes() const;

 private:
  using Vector6 = Vec<double, 6>;
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  struct Link : TreeLink {
    Matrix6 mass, inverse;         ///< of the body and what hangs on it
    Matrix6 own, other, response;  ///< rows of the joint on both sides; inverse of S, see the source
    Vector6 force, change, missing;
  };
  void solve_tree(std::size_t first, std::size_t end, std::span<const Joint> joints, std::span<const JointRows> rows, double pull,
                  std::span<RigidVelocity> velocities, std::span<JointMemory> memory);

  std::vector<std::uint8_t> in_tree_;
  Islands groups_;
  std::vector<std::int32_t> first_of_, joints_of_, place_;  ///< joints of trees at each body
  std::vector<std::uint8_t> met_;
  std::vector<Link> links_;  ///< from the root on, tree by tree
  std::vector<std::size_t> trees_;
};

}  // namespace meniscus::solids
