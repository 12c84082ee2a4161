// The graph of a tetrahedral mesh with water, and arrays of numbers and vectors at its tetrahedra and vertices.
#pragma once

#include "bridge.hpp"

#include "meniscus/fluids/tet_vof/tet_graph.hpp"

#include <memory>
#include <span>

namespace meniscus::bindings {

using fluids::TetGraph;

template <class T>
std::span<T> values_of(const py::array& a, const char* name, Index size, bool writable = false) {
  return {data_of<std::remove_const_t<T>>(a, name, size, writable), static_cast<std::size_t>(size)};
}

inline std::span<mesh::Point> vectors_of(const py::array& a, const char* name, Index size, bool writable = false) {
  static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
  return {reinterpret_cast<mesh::Point*>(data_of<double>(a, name, 3 * size, writable)), static_cast<std::size_t>(size)};
}

/// A graph and the array that its tetrahedra are in.
struct GraphHandle {
  py::array tets;
  std::shared_ptr<const TetGraph> graph;
};

void bind_tet_graph(py::module_& m);

}  // namespace meniscus::bindings
