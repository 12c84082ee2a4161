/// Lagged friction of pairs within their barrier: Coulomb friction as the gradient of a potential.
///
/// Where friction is lagged, each pair stores the weights of its closest points, two directions across its gap and the force
/// mu lambda that friction can exert. With the displacement u since then along these directions, the potential is
/// mu lambda f0(|u|), where f0' = f1 grows smoothly from 0 to 1 until |u| reaches `slip`:
///   f1(y) = (2 - y / slip) y / slip,  f0(y) = y^2 / slip (1 - y / (3 slip)) + slip / 3,  beyond it f0(y) = y.
///
/// Source: Li et al., "Incremental Potential Contact", 2020, section 5 and equation 15.
#pragma once

#include "meniscus/collision/barrier/barrier.hpp"

namespace meniscus::collision {

/// f0, f1 / y and the derivative of f1 at y >= 0.
std::array<double, 3> smooth_friction(double y, double slip);

/// Second derivatives of f0(|u|) by the displacement u in a plane; no eigenvalue is negative.
Eigen::Matrix2d friction_curvature(const Eigen::Vector2d& u, double slip);

/// Friction of one contact: two directions of length 1 across its gap, and the force that it can exert, N.
struct LaggedFriction {
  Eigen::Matrix<double, 3, 2> tangents;
  double force;

  static LaggedFriction across(const mesh::Point& gap, double force);

  /// Potential of a displacement of the contact, m, its derivative and second derivative.
  double energy(const mesh::Point& u, double slip) const;
  mesh::Point gradient(const mesh::Point& u, double slip) const;
  Eigen::Matrix3d curvature(const mesh::Point& u, double slip) const;
};

class BarrierFriction {
 public:
  /// Takes the pairs of a barrier, with forces of `stiffness` times the barrier at the positions `x`. `friction` has a
  /// coefficient per vertex: that of an element is the mean of its vertices', that of a pair the geometric mean of its elements'.
  void lag(const Barrier& barrier, std::span<const mesh::Point> x, double stiffness, std::span<const double> friction);
  void clear();
  Index size() const { return static_cast<Index>(pairs_.size()); }

  /// Potential of the displacements u (m) of all vertices since the start of the step; `slip` in m.
  double energy(std::span<const mesh::Point> u, double slip) const;
  void add_gradient(std::span<const mesh::Point> u, double slip, std::span<mesh::Point> out);
  /// Stores the second derivatives for the two functions below.
  void linearise(std::span<const mesh::Point> u, double slip);
  void add_product(std::span<const mesh::Point> u, std::span<mesh::Point> out);
  void add_diagonal(std::span<Eigen::Matrix3d> out) const;

  Index nbytes() const;

 private:
  struct Pair {
    std::array<double, 4> weights;
    LaggedFriction contact;
  };
  void require_size(std::size_t size) const;
  mesh::Point moved(std::size_t i, std::span<const mesh::Point> u) const;

  std::vector<Pair> pairs_;
  std::vector<Stencil> stencils_;
  std::vector<Eigen::Matrix3d> curvature_;
  std::size_t vertices_ = 0;
  PairSums sums_;
};

}  // namespace meniscus::collision
