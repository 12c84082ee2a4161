/// Memory of the arrays of shallow water: rows along y, with two layers of ghosts around the cells and room for the faces.
#pragma once

#include "meniscus/core/block.hpp"

#include <algorithm>

namespace meniscus::fluids {

/// Layers of ghost cells around the domain: what limited slopes beside a side reach.
inline constexpr Index shallow_ghosts = 2;

/// Cells and faces of one array: sample (i, j) of an array of cells is cell (i, j), of one of faces the face before that cell.
struct ShallowLayout {
  Index nx = 0;
  Index ny = 0;
  Index stride = 0;

  ShallowLayout() = default;
  /// Rows begin at multiples of 64 bytes.
  ShallowLayout(Index cells_x, Index cells_y)
      : nx(cells_x), ny(cells_y), stride((cells_y + 2 * shallow_ghosts + 1 + 15) / 16 * 16) {}

  /// Samples of one array.
  Index size() const { return (nx + 2 * shallow_ghosts + 1) * stride; }
  Index at(Index i, Index j) const { return (i + shallow_ghosts) * stride + j + shallow_ghosts; }
};

/// A zeroed array of the layout.
template <class T>
Block<T> shallow_array(const ShallowLayout& layout, T value = T(0)) {
  Block<T> block(layout.size());
  std::fill(block.begin(), block.end(), value);
  return block;
}

}  // namespace meniscus::fluids
