// Views of NumPy arrays of elements, and read-only NumPy views of memory of the core, without copies.
#pragma once

#include "collision/triangle_arrays.hpp"

#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::bindings {

/// Parts of `bind_mesh_topology`.
void bind_derived_meshes(py::module_& m);
void bind_clipping(py::module_& m);
void bind_voronoi(py::module_& m);

/// Calls f with std::integral_constant<std::size_t, N>, where N in {2, 3, 4} is the number of columns of the array.
template <class F>
auto with_corners(const py::array& elements, F&& f) {
  require(elements.ndim() == 2 && elements.shape(1) >= 2 && elements.shape(1) <= 4,
          "elements must have shape (m, 2), (m, 3) or (m, 4)");
  switch (elements.shape(1)) {
    case 2:
      return f(std::integral_constant<std::size_t, 2>{});
    case 3:
      return f(std::integral_constant<std::size_t, 3>{});
    default:
      return f(std::integral_constant<std::size_t, 4>{});
  }
}

/// A read-only array over memory of `owner`: of shape (n,) or, for elements of several values, (n, values).
template <class T>
py::array read_only(std::span<const T> values, const py::object& owner) {
  using Scalar = std::conditional_t<sizeof(T) == 8 && std::is_same_v<T, std::int64_t>, std::int64_t, std::int32_t>;
  constexpr auto columns = static_cast<py::ssize_t>(sizeof(T) / sizeof(Scalar));
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(values.size())};
  if (columns > 1) shape.push_back(columns);
  py::array a(py::dtype::of<Scalar>(), shape, reinterpret_cast<const Scalar*>(values.data()), owner);
  a.attr("flags").attr("writeable") = false;
  return a;
}

/// A read-only array that takes over a vector.
template <class T>
py::array taken(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner = sealing(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return read_only(std::span<const T>(*kept), owner);
}

}  // namespace meniscus::bindings
