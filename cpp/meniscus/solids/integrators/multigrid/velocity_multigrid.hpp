/// Multigrid for the matrices of implicit steps (velocity_system.hpp): a preconditioner for large bodies of springs, in single
/// precision. It works on the velocities themselves, M - a D - b K, of which constants are the smooth ones.
///
/// A cycle sweeps once forwards, corrects twice by groups of neighbours that move as one, and sweeps once backwards; so do the
/// levels below with groups of groups. It is symmetric, and positive definite whatever the matrix: diagonal blocks are sums of
/// what springs couple and of the diagonal blocks of all other forces, which have no couplings here. Within groups, nodes move
/// only as constraints and contacts let them.
///
/// Sources: Vanek, Mandel, Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems",
/// 1996 (the groups; here nothing is smoothed, which two corrections make good); Braess, "Towards algebraic multigrid for
/// elliptic problems of second order", 1995 (the same for Laplace's equation).
#pragma once

#include "meniscus/solids/integrators/body_step.hpp"
#include "meniscus/solids/integrators/multigrid/sweep_rows.hpp"

#include <array>

namespace meniscus::solids {

/// Three numbers and one that fills up a register.
using Single = float __attribute__((vector_size(16)));

class VelocityMultigrid {
 public:
  /// Which nodes are coupled: this depends on the forces alone. Takes its memory from the workspace of the step.
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
  Index nodes(int level) const { return levels_[level].rows.size(); }

 private:
  /// A 3 x 3 block, column by column.
  using Block = std::array<Single, 3>;
  struct Level {
    SweepRows rows;
    /// Of the entries: of level 0 as springs, of all others as matrices.
    Workspace::Lease<Single> spring;
    Workspace::Lease<Block> block;
    Workspace::Lease<Block3> diagonal;
    Workspace::Lease<Block> rounded_diagonal, inverse;
    Workspace::Lease<Single> b, x, y;
    // How it becomes the next level: the group of each node, the nodes of each group, and for each entry its place among those of
    // the next level, -1 within a group.
    Workspace::Lease<std::int32_t> label, member, slot;
    Workspace::Lease<Index> member_start;
    Index groups = 0;
  };

  bool coarsen(std::size_t level);
  void find_members(Level& fine);
  void join_rows(Level& fine, Level& coarse);
  void prepare_finest(double damping, double stiffness);
  template <class Entry, class Diagonal>
  void add_up(const Level& fine, Level& coarse, Entry&& entry, Diagonal&& diagonal);
  void correct(std::size_t level);
  void solve(std::size_t level);

  const BodyStep& step_;
  std::array<Level, 12> levels_;
  std::size_t depth_ = 0;
  Index pairs_ = 0;
  Workspace::Lease<Coupling> coupling_;
  /// Per node its place among the held ones; -1 free, -2 without any freedom.
  Workspace::Lease<std::int32_t> held_;
  /// Square roots of the masses, in units of the smallest; 0 where they are infinite.
  Workspace::Lease<double> root_;
};

}  // namespace meniscus::solids
