// Arrays of pairs of elements: views of the positions of many separate pairs, and copies of rows.
#pragma once

#include "bridge.hpp"

#include "meniscus/collision/continuous/separate_pairs.hpp"

#include <array>
#include <vector>

namespace meniscus::bindings {

/// The points of an array (n, points of a pair, dimension), row after row.
template <class P>
std::span<const P> pair_points(const py::array& a, const char* name, py::ssize_t points) {
  constexpr py::ssize_t dimension = P::SizeAtCompileTime;
  static_assert(sizeof(P) == P::SizeAtCompileTime * sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 3 && a.shape(1) == points && a.shape(2) == dimension, name, " must have shape (n, ", points, ", ",
          dimension, ")");
  return {reinterpret_cast<const P*>(first), static_cast<std::size_t>(points * a.shape(0))};
}

/// Pairs of four points each at both ends of a step.
inline collision::SeparatePairs pairs_of(const py::array& start, const py::array& end) {
  return {pair_points<mesh::Point>(start, "start", 4), pair_points<mesh::Point>(end, "end", 4)};
}

/// A copy of rows as an array (k, K) with memory of its own.
template <class T, std::size_t K>
py::array_t<T> copied_rows(std::span<const std::array<T, K>> rows) {
  py::array_t<T> a({static_cast<py::ssize_t>(rows.size()), static_cast<py::ssize_t>(K)});
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(rows[i].data(), K, a.mutable_data() + K * i);
  return a;
}
template <class T, std::size_t K>
py::array_t<T> copied_rows(const std::vector<std::array<T, K>>& rows) {
  return copied_rows(std::span<const std::array<T, K>>(rows));
}

}  // namespace meniscus::bindings
