// Views of NumPy arrays of positions, without copies, and triangles.
#pragma once

#include "index_arrays.hpp"

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::bindings {

inline std::span<const mesh::Point> positions_of(const py::array& a, const char* name) {
  static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 3, name, " must have shape (n, 3)");
  return {reinterpret_cast<const mesh::Point*>(first), static_cast<std::size_t>(a.shape(0))};
}

}  // namespace meniscus::bindings
