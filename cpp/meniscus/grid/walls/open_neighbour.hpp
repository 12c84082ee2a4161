/// Neighbours of cells through faces that no thin wall blocks.
#pragma once

#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::grid {

/// The number of the cell beside cell c along an axis, -1 beyond a side of the domain or a wall. `number`: of c, in C order with
/// these strides; `step`: -1 or 1.
template <int D>
Index open_neighbour(const ThinWalls<D>& walls, const Coord<D>& strides, Coord<D> c, Index number, int axis, int step) {
  const Index a = axis;
  // Faces of cells that no wall comes near are open.
  if (walls.clearance()[number] == 0) {
    Coord<D> face = c;
    face[a] += step > 0;
    if (walls.blocked(axis, face, nullptr)) return -1;
  }
  const Index at = c[a] + step;
  if (at >= 0 && at < walls.grid().local_shape()[a]) return number + step * strides[a];
  const Index image = image_of_cell<D>(walls.grid(), axis, at);
  return image < 0 ? -1 : number + (image - c[a]) * strides[a];
}

}  // namespace meniscus::grid
