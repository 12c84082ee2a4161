// Views of NumPy arrays whose rows are points, segments, triangles or stencils, without copies.
#pragma once

#include "bridge.hpp"

#include "meniscus/core/finite_values.hpp"

#include <span>

namespace meniscus::bindings {

/// The rows of an array, each of which is a T made of doubles alone.
template <class T>
std::span<const T> rows_of(const py::array& a, const char* name) {
  constexpr auto values = static_cast<Index>(sizeof(T) / sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() >= 2 && a.size() == a.shape(0) * values, name, " must have rows of ", values, " values");
  return {reinterpret_cast<const T*>(first), static_cast<std::size_t>(a.shape(0))};
}

/// Raises ValueError with the index of the first value that is not finite.
inline void require_finite_values(const py::array& a, const char* name) {
  const double* const x = data_of<double>(a, name);
  const Index first = interruptible([&] { return first_not_finite(x, static_cast<Index>(a.size())); });
  if (first < 0) return;
  std::string place;
  Index rest = first;
  for (py::ssize_t d = a.ndim(); d-- > 0; rest /= a.shape(d))
    place = std::to_string(rest % a.shape(d)) + (place.empty() ? "" : ", " + place);
  require(false, name, " must be finite, but [", place, "] is ", x[first]);
}

}  // namespace meniscus::bindings
