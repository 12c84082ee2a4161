/// Modes of vibration of a body of tetrahedra, modal derivatives, and the basis of a reduced model that is made from them.
///
/// Modes solve K u = w^2 M u with the stiffness at rest and lumped masses, without the rigid motions of a body that is not held
/// anywhere. The modal derivative of the modes i and j solves K u = -(dK(s u_j) / ds) u_i: how the mode i turns where j is
/// excited. Modes and derivatives, weighted by the inverse of their stiffness, are compressed to a few vectors by principal
/// components in the norm of mass.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, chapter 7 (an empty heading); Barbic and James, "Real-time
/// subspace integration for St. Venant-Kirchhoff deformable models", 2005, sections 3 and 4; Golub and Ye, "Inexact inverse
/// iteration", 2000 (block Lanczos method on the inverse).
#pragma once

#include "meniscus/solids/reduced/held_stiffness.hpp"

namespace meniscus::solids {

/// The lowest modes. Throws InvalidArgument if there are not as many, and for bodies that can still move rigidly although nodes
/// are fixed.
ReducedBasis vibration_modes(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                             std::span<const double> masses, std::span<const std::uint8_t> fixed, Index count);

/// The same of a body whose stiffness is there.
ReducedBasis vibration_modes(HeldStiffness& body, Index count);

/// `size` vectors from `modes` modes and all their derivatives.
ReducedBasis basis_with_derivatives(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                                    std::span<const double> masses, std::span<const std::uint8_t> fixed, Index modes, Index size);

}  // namespace meniscus::solids
