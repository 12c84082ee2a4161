// Views of NumPy arrays of positions and triangles, without copies.
#pragma once

#include "bridge.hpp"

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::bindings {

inline std::span<const mesh::Point> positions_of(const py::array& a, const char* name) {
  static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 3, name, " must have shape (n, 3)");
  return {reinterpret_cast<const mesh::Point*>(first), static_cast<std::size_t>(a.shape(0))};
}

inline std::span<const mesh::Triangle> triangles_of(const py::array& a) {
  static_assert(sizeof(mesh::Triangle) == 3 * sizeof(std::int32_t));
  const std::int32_t* first = data_of<std::int32_t>(a, "triangles");
  require(a.ndim() == 2 && a.shape(1) == 3, "triangles must have shape (m, 3)");
  return {reinterpret_cast<const mesh::Triangle*>(first), static_cast<std::size_t>(a.shape(0))};
}

}  // namespace meniscus::bindings
