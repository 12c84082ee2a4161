// Conversion of the array arguments of forces: values per node.
#pragma once

#include "collision/triangle_arrays.hpp"

#include "meniscus/solids/force.hpp"

namespace meniscus::bindings {

/// One position, velocity or displacement per node, all finite.
inline std::span<const mesh::Point> nodes_of(const py::array& a, const char* name, Index nodes) {
  const auto x = positions_of(a, name);
  require(static_cast<Index>(x.size()) >= nodes, name, " must have a row for each of the ", nodes, " nodes, not ", x.size());
  return x;
}

inline std::span<mesh::Point> writable_nodes_of(const py::array& a, const char* name, Index nodes) {
  double* const first = data_of<double>(a, name, -1, true);
  require(a.ndim() == 2 && a.shape(1) == 3 && a.shape(0) >= nodes, name, " must have shape (n, 3) with n >= ", nodes);
  return {reinterpret_cast<mesh::Point*>(first), static_cast<std::size_t>(a.shape(0))};
}

template <class T>
std::span<const T> values_of(const py::array& a, const char* name) {
  const T* const first = data_of<T>(a, name);
  return {first, static_cast<std::size_t>(a.size())};
}

inline py::array copy_of(std::span<const double> values) {
  return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

inline py::array copy_of(std::span<const mesh::Point> points) {
  return py::array_t<double>({static_cast<py::ssize_t>(points.size()), py::ssize_t{3}},
                             reinterpret_cast<const double*>(points.data()));
}

// What `bind_springs` binds as well.
void bind_element_springs(py::module_& m);
void bind_external_forces(py::module_& m);

}  // namespace meniscus::bindings
