// Arrays of position based dynamics.
#pragma once

#include "solids/force_arrays.hpp"

namespace meniscus::bindings {

/// Rows of an array as structures of numbers.
template <class Row, class Number>
std::span<Row> structures_in(const py::array& a, const char* name) {
  constexpr auto columns = static_cast<py::ssize_t>(sizeof(Row) / sizeof(Number));
  Number* const first = data_of<Number>(a, name, -1, true);
  require(a.ndim() == 2 && a.shape(1) == columns, name, " must have shape (n, ", columns, ")");
  return {reinterpret_cast<Row*>(first), static_cast<std::size_t>(a.shape(0))};
}

template <class T>
std::span<const T> flat(const py::array& a, const char* name) {
  return {data_of<T>(a, name, -1), static_cast<std::size_t>(a.size())};
}

// What `bind_position_body` binds as well.
void bind_position_parts(py::module_& m);

}  // namespace meniscus::bindings
