/// The constant part of a reduced body: the shape at rest, its basis, and how it resists motion.
///
/// A point is at c + R (X + U q): c and R are the place of the frame and its rotation, X the place at rest from the centre of
/// mass, U the rows of the basis at the node. In a frame that flies, U is orthogonal to rigid motions in the inner product of
/// mass, so that c is the centre of mass and the frame feels rotations and deformations only by the inertia J(q) and the coupling
/// A(q):
///
///     L = R (J w + A q'),    2 T = m |c'|^2 + w . J w + 2 w . A q' + |q'|^2,    A_b = sum m (U q) x U_b.
///
/// A body that is held may be warped: displacements at a node are R~(w) U q, with w = W q half the curl of U q there and R~ the
/// mean of the rotations by s w, 0 <= s <= 1. For R~ w x X = (exp[w] - 1) X, linear modes that turn a part of the body turn it by
/// any angle. Rows of a node are then the derivative of its place, R~ U + (d R~ U q / d w) W, so that loads do the work that they
/// should.
///
/// Sources: Barbic and James 2005; Terzopoulos and Witkin, "Physically based models with rigid and deformable components", 1988;
/// Choi and Ko, "Modal warping: real-time simulation of large rotational deformation and manipulation", 2005.
#pragma once

#include "meniscus/solids/reduced/reduced_forces.hpp"
#include "meniscus/solids/rigid/rigid_motion.hpp"

namespace meniscus::solids {

using ThreeRows = Eigen::Matrix<double, 3, Eigen::Dynamic>;

class ReducedModel {
 public:
  /// `basis` has three rows per node. A body that is not `held` needs a basis that is orthogonal to rigid motions. `turns`, of
  /// the size of the basis, are W of a body that is warped, or empty.
  ReducedModel(std::span<const mesh::Point> rest, std::span<const double> masses, const Eigen::MatrixXd& basis,
               const Eigen::VectorXd& eigenvalues, bool held, Eigen::MatrixXd turns = {});

  Index nodes() const { return nodes_; }
  Index size() const { return size_; }
  bool held() const { return held_; }
  double mass() const { return mass_; }
  const mesh::Point& centre() const { return centre_; }
  const Eigen::VectorXd& eigenvalues() const { return eigenvalues_; }

  /// J(q), and A(q) as columns. `m` is scratch of nine rows.
  void inertia(const Eigen::VectorXd& q, Eigen::Matrix3d& j, ThreeRows& a, Eigen::MatrixXd& m) const;
  /// Adds w . (dJ/dq) w / 2 - w . A(v) at q: what turns of the frame do to the coordinates. `m` is scratch as before.
  void add_turning_forces(const Eigen::VectorXd& q, const Eigen::VectorXd& v, const Eigen::Vector3d& w, Eigen::VectorXd& force,
                          Eigen::MatrixXd& m) const;
  /// sum m U (3, r), of the rows at q: the force of gravity on the coordinates; zero unless held.
  void first_moment(const Eigen::VectorXd& q, ThreeRows& out) const;

  /// X + U q of a node, warped, in axes of the frame.
  Eigen::Vector3d place(Index node, const Eigen::VectorXd& q) const;
  /// Adds weight times the rows of a node at q.
  void add_rows(Index node, double weight, const Eigen::VectorXd& q, ThreeRows& out) const;
  /// Adds weight times the products of the rows of a node with three directions (columns): r numbers of each, `stride` apart.
  void add_rows_along(Index node, double weight, const Eigen::VectorXd& q, const Eigen::Matrix3d& directions, double* out,
                      Index stride) const;
  /// The largest norm of the rows of a node: no node moves farther than that times the norm of the coordinates.
  double largest_row() const;
  /// The largest distance of a node at rest from the centre of mass, m.
  double reach() const;
  /// Places of all nodes in space.
  void positions(const Eigen::VectorXd& q, const Eigen::Matrix3d& rotation, const Eigen::Vector3d& origin,
                 std::span<mesh::Point> out) const;
  /// c' + R (w x (X + U q) + U v) of all nodes, with the rows at q; w in axes of the frame.
  void velocities(const Eigen::VectorXd& q, const Eigen::VectorXd& v, const Eigen::Matrix3d& rotation,
                  const Eigen::Vector3d& linear, const Eigen::Vector3d& w, std::span<mesh::Point> out) const;

  std::size_t nbytes() const;

 private:
  /// R~, and the derivative of R~ U q by w.
  struct Warp {
    Eigen::Matrix3d mean, change;
  };
  bool warped() const { return turns_.size() > 0; }
  Warp warp(Index node, const Eigen::VectorXd& q) const;
  /// U q alone.
  Eigen::Vector3d displacement(Index node, const Eigen::VectorXd& q) const;
  Index packs() const { return (nodes_ + 7) / 8; }
  /// For each coordinate, sum m (U q) U_b^T by columns in the columns of `m`.
  void products(const Eigen::VectorXd& q, Eigen::MatrixXd& m) const;

  Index nodes_, size_;
  bool held_;
  double mass_ = 0;
  mesh::Point centre_ = mesh::Point::Zero();
  Eigen::VectorXd eigenvalues_;
  /// Per eight nodes: x, y, z at rest; then those of each vector of the basis.
  std::vector<double> packed_;
  /// sum m X X^T; per coordinate sum m X U_b^T (nine rows); per pair sum m U_a U_b^T, coordinate a in rows of nine.
  Eigen::Matrix3d second_moment_ = Eigen::Matrix3d::Zero();
  Eigen::MatrixXd mixed_moments_, basis_moments_;
  ThreeRows first_moment_;
  /// Of a body that is warped.
  Eigen::MatrixXd turns_;
  Eigen::VectorXd masses_;
};

/// Half the curl of each vector of a basis at each node: the mean of the elements there, weighted by volume.
Eigen::MatrixXd node_turns(std::span<const TetGradient> elements, const Eigen::MatrixXd& basis);

}  // namespace meniscus::solids
