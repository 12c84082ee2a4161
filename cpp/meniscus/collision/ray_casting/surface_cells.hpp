/// Grid cells near a thickened surface, and visibility between neighbouring cell centres.
///
/// Source: Guendelman et al., "Coupling water and smoke to thin deformable and rigid shells", 2005, section 3 (boxes of
/// triangles, enlarged, mark the cells that need care; all others take the ordinary way); Selle 2008, section 4.3.
#pragma once

#include "meniscus/collision/ray_casting/thick_surface.hpp"

namespace meniscus::collision {

/// Cell [i, j, k] fills low + spacing ([i, i+1] x [j, j+1] x [k, k+1]); arrays over cells are C-ordered.
struct CellGrid {
  mesh::Point low;
  double spacing;
  Coord<3> shape;

  mesh::Point center(const Coord<3>& c) const {
    return low + spacing * mesh::Point(static_cast<double>(c[0]) + 0.5, static_cast<double>(c[1]) + 0.5,
                                       static_cast<double>(c[2]) + 0.5);
  }
};

/// Sets out[cell] to 1 where a segment whose ends lie within `reach` of the cell (along each axis) may not be clear, and to 0
/// elsewhere: segments near unmarked cells are visible without a query. With the positions `end` of the vertices at the end of a
/// step, cells that a triangle may come near on the way are marked, too.
void near_cells(const ThickSurface& surface, const mesh::Point* end, const CellGrid& grid, double reach,
                std::span<std::uint8_t> out);

/// Obstacle between the centres of two neighbouring cells.
struct BlockedFace {
  std::int32_t axis;
  Coord<3> face;
  WedgeHit hit;
};

/// Fills clear[axis], of one value per face of a staggered grid, with 1 where the segment between the centres of the two cells
/// beside the face is clear of all wedges and 0 where it is not, and returns the blocked faces, axis by axis in C order. At a
/// side of the grid, the centre of the next cell outside is used. With `guarded`, only faces of marked cells are tested.
std::vector<BlockedFace> visible_faces(const ThickSurface& surface, const CellGrid& grid, bool guarded,
                                       const std::array<std::span<std::uint8_t>, 3>& clear);

}  // namespace meniscus::collision
