/// Textbook formulas for stiffness and forces of one tetrahedron, corrected and as printed, for comparison.
///
/// Source: Mueller et al., "Real time physics class notes", 2008, sections 4.2.1 (forces on deformed faces) and 4.2.2 (stiffness
/// by entries).
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::solids {

using TetCorners = std::array<mesh::Point, 4>;
using TetMatrix = Eigen::Matrix<double, 12, 12>;

enum class StiffnessFormula : std::int8_t {
  corrected,
  /// With a coefficient of shear that is too large by a factor of two, which makes the element anisotropic.
  printed_shear,
  /// Also six times the volume.
  printed,
};

/// The matrix K of f = -K (p - x) for Cauchy strain and Hooke's law; the element must have a positive volume.
TetMatrix tet_stiffness(const TetCorners& rest, double youngs_modulus, double poissons_ratio, StiffnessFormula formula);

enum class FaceForceFormula : std::int8_t {
  /// The stress S of Green strain transformed to Cauchy stress on the deformed faces, F S F^T / det F.
  cauchy,
  /// S itself on the deformed faces, which is not indifferent to rotation.
  printed_halved,
  /// Also without the factor 1/2 of the area of a triangle.
  printed,
};

/// Forces at the corners: a third of the force on each face goes to each of its corners.
TetCorners tet_face_forces(const TetCorners& rest, const TetCorners& positions, double youngs_modulus, double poissons_ratio,
                           FaceForceFormula formula);

}  // namespace meniscus::solids
