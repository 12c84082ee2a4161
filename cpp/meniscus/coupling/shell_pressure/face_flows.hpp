/// Masses, fluxes and accelerations of the faces of a grid of one block, from plain arrays in C order.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <array>

namespace meniscus::coupling {

/// All arrays of faces have one face more than cells along their own axis.
template <int D>
using FaceValues = std::array<double*, D>;
template <int D>
using ConstFaceValues = std::array<const double*, D>;

/// Mass of the liquid of each face, kg, for a pressure that is zero at the free surface (ghost fluid): that of a cell, of which
/// as much counts as there is liquid on the way between the two centres. Infinite on faces without liquid on either side, and on
/// sides of the domain that are not `open`, by number 2 axis + (0, 1); on open ones that of half a cell.
/// `phi`: level set at centres, m; liquid is where it is not above 0. `half`: mass of half a cell of liquid, kg. `shallowest`:
/// the least part of the way.
template <int D>
void find_liquid_face_masses(const grid::Grid<D>& grid, const double* phi, double half, double shallowest,
                             const std::array<bool, 2 * D>& open, const FaceValues<D>& masses);

/// A^2 / M of each face, zero where the mass is infinite.
template <int D>
void find_face_conductances(const grid::Grid<D>& grid, const ConstFaceValues<D>& areas, const ConstFaceValues<D>& masses,
                            const FaceValues<D>& out);

/// Volume flux out of each active cell, zero in others.
template <int D>
void find_face_divergence(const grid::Grid<D>& grid, const ConstFaceValues<D>& areas, const ConstFaceValues<D>& velocities,
                          const std::uint8_t* active, double* out);

/// Adds A / M (p below - p above) to each face. Pressures beyond sides of the domain are zero.
template <int D>
void accelerate_faces(const grid::Grid<D>& grid, const ConstFaceValues<D>& areas, const ConstFaceValues<D>& masses,
                      const double* p, const FaceValues<D>& velocities);

}  // namespace meniscus::coupling
