/// Open fractions of faces: the part of each face outside a solid that is given by a level set on the nodes.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/poisson/cell_layout.hpp"

namespace meniscus::grid {

/// Edges of which less than this is open count as closed, and faces in 3-D of which less than its square is: a slit that no flow
/// of the grid's resolution passes would make the pressure system nearly singular. It has to be a matter of lengths: the faces of
/// a cell of which little is left are small of second order, some more than others, and to close only some of them would force
/// what flows through the closed ones through the rest, with an error of order one in their velocity.
inline constexpr double smallest_open_fraction = 1e-4;

/// Fills open[d] (memory of `layout.size` values, lower face of each cell along axis d) for the faces 0 to n of every axis: 1
/// outside the solid (phi > 0), 0 inside. In between, phi is taken as linear along the edges of 2-D faces and on the four
/// triangles around the centre of 3-D faces, which is second-order accurate in the spacing.
template <int D>
void compute_open_fractions(const Field<double, D>& phi, const CellLayout<D>& layout, std::array<Block<double>, D>& open);

}  // namespace meniscus::grid
