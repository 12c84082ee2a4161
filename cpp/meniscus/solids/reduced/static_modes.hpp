/// Static responses of a body at rest: component modes whose interfaces respond exactly, and the compliance of points of its
/// surface.
///
/// Component modes (Craig and Bampton) are the modes of vibration with an interface held, and the displacements under a unit
/// motion of each coordinate of the interface: these are all static responses to forces there. Components are joined by adding
/// their matrices at the coordinates that they share.
///
/// The compliance G gives displacements u = G f of some nodes under forces on them. Where contact prescribes displacements along
/// some directions N, the forces solve the small system of the capacitance matrix, N^T G N p = d - N^T G f.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, chapter 7 (an empty heading); Craig and Bampton, "Coupling
/// of substructures for dynamic analyses", 1968; James and Pai, "ArtDefo: accurate real time deformable objects", 1999.
#pragma once

#include "meniscus/solids/reduced/vibration_modes.hpp"

namespace meniscus::solids {

struct ComponentModes {
  /// (3n, m + 3b): modes, kg^-1/2, zero at the interface, then the displacements per displacement of x, y, z of each of its
  /// nodes.
  Eigen::MatrixXd vectors;
  /// In these coordinates; the stiffness has no terms between modes and interface.
  Eigen::MatrixXd stiffness, mass;
  /// Rigid motions of a body without fixed nodes, which the displacements of the interface hold, orthonormal by mass.
  Eigen::MatrixXd rigid;
};

/// `modes` may be 0. Throws InvalidArgument for interfaces that leave a rigid motion and no node fixed, for nodes that are both,
/// and for fewer modes than asked for.
ComponentModes component_modes(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                               std::span<const double> masses, std::span<const std::uint8_t> fixed,
                               std::span<const std::int32_t> interface, Index modes);

/// An orthonormal basis with frequencies of what component modes span, without rigid motions.
ReducedBasis basis_of_components(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                                 std::span<const double> masses, std::span<const std::uint8_t> fixed,
                                 std::span<const std::int32_t> interface, Index modes);

class Compliance {
 public:
  /// Throws InvalidArgument where too few nodes are fixed, and for nodes that are.
  Compliance(std::span<const TetGradient> elements, std::span<const mesh::Point> rest, std::span<const double> masses,
             std::span<const std::uint8_t> fixed, std::span<const std::int32_t> nodes);
  /// Takes over a matrix.
  explicit Compliance(Eigen::MatrixXd matrix) : matrix_(std::move(matrix)) {}

  /// G (3k, 3k), m/N: three rows per node.
  const Eigen::MatrixXd& matrix() const { return matrix_; }
  /// Adds to the forces (3k, N) those along directions at nodes (by their places in `nodes`) for which the displacements there,
  /// along the directions, are given ones (m), and sets all displacements. Throws InvalidArgument for the same direction twice at
  /// a node.
  void press(std::span<const std::int32_t> places, std::span<const mesh::Point> directions, std::span<const double> displacements,
             Eigen::VectorXd& forces, Eigen::VectorXd& out) const;

 private:
  Eigen::MatrixXd matrix_;
};

}  // namespace meniscus::solids
