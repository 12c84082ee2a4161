/// The stiffness at rest of a body of tetrahedra, held by fixed nodes or against rigid motions alone: what modes and static
/// responses solve with.
#pragma once

#include "meniscus/solids/reduced/tet_gradients.hpp"

#include <Eigen/SparseCholesky>

namespace meniscus::solids {

struct ReducedBasis {
  /// (3n, r), kg^-1/2: orthonormal in the inner product of mass, zero at fixed nodes, orthogonal to rigid motions where nothing
  /// is fixed, ordered by frequency.
  Eigen::MatrixXd vectors;
  /// Squares of the angular frequencies (r), 1/s^2: u^T K u.
  Eigen::VectorXd eigenvalues;
};

/// Makes columns orthonormal in the inner product of mass; those of which less than a part is left beside the ones before them
/// are dropped.
Eigen::MatrixXd orthonormal(const Eigen::MatrixXd& columns, const Eigen::VectorXd& mass, const Eigen::MatrixXd& before,
                            double least = 1e-10);

class HeldStiffness {
 public:
  /// Throws InvalidArgument for nodes without mass, and for one or two fixed nodes, or more on a line.
  HeldStiffness(std::span<const TetGradient> elements, std::span<const mesh::Point> rest, std::span<const double> masses,
                std::span<const std::uint8_t> fixed);

  /// Degrees of freedom that are neither fixed nor rigid.
  Index unknowns() const { return unknowns_; }
  /// Of each degree of freedom, kg.
  const Eigen::VectorXd& mass() const { return mass_; }
  const Eigen::SparseMatrix<double>& stiffness() const { return stiffness_; }
  /// Rigid motions of a body without fixed nodes, orthonormal in the inner product of mass; no columns otherwise.
  const Eigen::MatrixXd& rigid() const { return rigid_; }
  std::span<const Eigen::Index> free() const { return free_; }

  /// The displacements under forces, whose rigid part is left out, without a rigid motion. Throws InvalidArgument for a body of
  /// several pieces.
  Eigen::MatrixXd solve(const Eigen::MatrixXd& forces);

  /// Turns a basis, orthonormal in the inner product of mass, in its space so that its stiffness is diagonal, and gives each
  /// vector a sign that does not depend on rounding errors.
  ReducedBasis with_frequencies(const Eigen::MatrixXd& basis) const;

 private:
  Eigen::SparseMatrix<double> stiffness_, lower_;
  Eigen::VectorXd mass_;
  Eigen::MatrixXd rigid_;
  std::vector<Eigen::Index> free_;
  Index unknowns_ = 0;
  bool factored_ = false;
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factor_;
};

/// Rigid motions, orthonormal in the inner product of mass.
Eigen::MatrixXd rigid_motions(std::span<const mesh::Point> rest, const Eigen::VectorXd& mass);

}  // namespace meniscus::solids
