/// Multigrid for the matrices of implicit steps (velocity_system.hpp): a preconditioner for large bodies of springs, in single
/// precision. It works on the velocities themselves, M - a D - b K, of which those of rigid motions are the smooth ones.
///
/// A cycle sweeps once forwards, corrects twice by groups of some eight neighbours that move as rigid bodies, and sweeps once
/// backwards; so do the levels below with groups of groups. Cloth bends and turns at next to no cost: groups that could not turn
/// would resist to that. The cycle is symmetric, and positive definite whatever the matrix: diagonal blocks are sums of what
/// springs couple and of the diagonal blocks of all other forces, which have no couplings here. Within groups, nodes move only as
/// constraints and contacts let them.
///
/// Sources: Vanek, Mandel, Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems",
/// 1996 (groups with rigid motions; here nothing is smoothed, which two corrections make good); Braess, "Towards algebraic
/// multigrid for elliptic problems of second order", 1995 (groups as pairs of pairs).
#pragma once

#include "meniscus/solids/integrators/multigrid/group_hierarchy.hpp"
#include "meniscus/solids/integrators/multigrid/rigid_block.hpp"

namespace meniscus::solids {

class VelocityMultigrid {
 public:
  /// Takes its memory from the workspace of the step, where groups are kept for the steps that follow.
  explicit VelocityMultigrid(const BodyStep& step);
  VelocityMultigrid(const VelocityMultigrid&) = delete;
  VelocityMultigrid& operator=(const VelocityMultigrid&) = delete;

  /// Takes over the forces as they are linearised now, and what is held. `scale` is s, per node. Returns the sum of the squares
  /// of the largest diagonal entries of a D + b K of all nodes that are not held, kg^2.
  double prepare(double damping, double stiffness, const double* scale);

  /// z = (approximate inverse) r, both in the space that is left free.
  void precondition(ConstPoints r, Points z);

  /// Whether any nodes are coupled at all.
  bool useful() const { return depth_ > 1; }
  int levels() const { return static_cast<int>(depth_); }
  Index nodes(int level) const { return groups_->level(level).rows.size(); }

 private:
  static constexpr std::int32_t unheld = -1, immovable = -2;

  /// Numbers of a level of groups.
  struct Level {
    Workspace::Lease<WideBlock> block, rounded_diagonal, inverse;
    Workspace::Lease<WideSum> diagonal;
    /// The first three columns of the sums of rows: what a common velocity of all groups meets. Far smaller than their parts.
    Workspace::Lease<std::array<numerics::Pack, 3>> common;
    Workspace::Lease<Wide> b, x, y;
    /// From the middle of the group that a group of this level is in.
    Workspace::Lease<Single> offset;
    Workspace::Lease<mesh::Point> middle;
  };

  void place_groups();
  void prepare_finest(double damping, double stiffness);
  void add_up_springs();
  void add_up_groups(std::size_t level);
  void finish(std::size_t level);
  void correct(std::size_t level);
  void solve(std::size_t level);

  const BodyStep& step_;
  std::shared_ptr<const GroupHierarchy> groups_;
  std::size_t depth_ = 0;
  /// The first level has numbers for nodes, all others for groups.
  std::array<Level, GroupHierarchy::most_levels> levels_;
  Workspace::Lease<Single> spring_, x_;
  /// The diagonal blocks of nodes, and what of them is no spring.
  Workspace::Lease<Block3> diagonal_, rest_;
  Workspace::Lease<Block> inverse_;
  Workspace::Lease<Coupling> coupling_;
  /// Per node its place among the held ones; or free, or without any freedom.
  Workspace::Lease<std::int32_t> held_;
  /// Square roots of the masses, in units of the smallest; 0 where they are infinite.
  Workspace::Lease<double> root_;
};

}  // namespace meniscus::solids
