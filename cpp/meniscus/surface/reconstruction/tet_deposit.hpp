/// Amounts in tetrahedra, spread over the cells of a lattice.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/mesh/tet_mesh.hpp"

#include <span>

namespace meniscus::surface {

/// out[k][cell] becomes the sum of what falls into the cell of the amounts of kind k, tet after tet. Positions are in cells, cell
/// (i, j, l) of the box being that at low + (i, j, l) of the lattice. amounts are (m, kinds), out (kinds, shape). Each
/// tetrahedron is divided into parts no longer than 1.6 cells (at most 8^4), and each part puts a quarter of its share into the
/// cell of each of the four points of the quadrature of second degree. What lies beyond the box is left out. The bits of a cell
/// depend neither on the box nor on threads.
void deposit_tets(const mesh::TetMeshView& mesh, std::span<const double> amounts, std::size_t kinds, const Coord<3>& low,
                  const Coord<3>& shape, std::span<double> out, Workspace& workspace);

}  // namespace meniscus::surface
