/// Fast projection: all constraints at once, by Newton's method with the smallest change in the norm of the masses.
///
/// With gradients G, inverse masses W and compliances a over dt^2, each round solves (G W G^T + a) d = -C - a l, moves the nodes
/// by W G^T d and adds d to the multipliers l. A reference for Gauss-Seidel sweeps, of which a chain needs the square of its
/// number of links; inequalities that hold in a round are left out of it.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 5.2; Goldenthal, Harmon, Fattal, Bercovier and Grinspun, "Efficient
/// simulation of inextensible cloth", 2007.
#pragma once

#include "meniscus/numerics/solve_info.hpp"
#include "meniscus/solids/position/position_constraints.hpp"

namespace meniscus::solids {

struct FastProjectionReport {
  /// Rounds, and iterations of conjugate gradients in all of them.
  int rounds = 0;
  int iterations = 0;
  /// Greatest |C + a l| before the last round, as constraints are measured.
  double largest = 0;
};

template <class T>
class FastProjection {
 public:
  /// Constraints that are solved together; they must outlive this object.
  explicit FastProjection(std::vector<PositionConstraints<T>*> constraints) : constraints_(std::move(constraints)) {}

  /// At most so many rounds, until no constraint is off by more than the tolerance.
  FastProjectionReport project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules, int rounds, double tolerance);

  Index nbytes() const;

 private:
  using Vector3 = Vec<double, 3>;
  /// Which corner of which row a node is.
  struct Use {
    std::int32_t row;
    std::int32_t corner;
  };
  struct System;

  void linearise(std::span<const PositionNode<T>> nodes, const ProjectionRules& rules);
  void connect(std::size_t nodes);

  std::vector<PositionConstraints<T>*> constraints_;
  std::vector<LinearConstraint> rows_;
  std::vector<std::size_t> use_first_;
  std::vector<Use> uses_;
  std::vector<Vector3> moves_;
  std::vector<double> x_, b_, r_, p_, q_, z_, diagonal_;
  numerics::SolveInfo info_;
};

}  // namespace meniscus::solids
