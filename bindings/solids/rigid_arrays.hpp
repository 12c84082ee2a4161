// Arrays of systems of rigid bodies.
#pragma once

#include "solids/force_arrays.hpp"

#include "meniscus/solids/rigid/contact/rigid_system.hpp"

namespace meniscus::bindings {

/// Rows of an array as structures of doubles.
template <class T>
std::span<T> records_of(const py::array& a, const char* name) {
  constexpr auto columns = static_cast<py::ssize_t>(sizeof(T) / sizeof(double));
  double* const first = data_of<double>(a, name, -1, !std::is_const_v<T>);
  require(a.ndim() == 2 && a.shape(1) == columns, name, " must have shape (n, ", columns, ")");
  return {reinterpret_cast<T*>(first), static_cast<std::size_t>(a.shape(0))};
}

template <class T>
py::array copy_records(std::span<const T> rows) {
  const py::array_t<double> out({static_cast<py::ssize_t>(rows.size()), static_cast<py::ssize_t>(sizeof(T) / sizeof(double))});
  std::memcpy(const_cast<double*>(out.data()), rows.data(), rows.size_bytes());
  return out;
}

inline solids::RigidArrays arrays_of(const py::tuple& a) {
  const py::array quiet = a[4];
  return {.states = records_of<solids::RigidState>(a[0], "states"),
          .given = records_of<const solids::RigidVelocity>(a[1], "velocities"),
          .forces = positions_of(a[2], "forces"),
          .torques = positions_of(a[3], "torques"),
          .quiet = {data_of<double>(quiet, "quiet", -1, true), static_cast<std::size_t>(quiet.size())}};
}

/// Groups (g, 3): two bodies and the number of points, and the points one after the other.
inline void read_contacts(const py::array& groups, const py::array& points, solids::ContactList& out) {
  const auto* const g = data_of<std::int32_t>(groups, "groups");
  const auto p = records_of<const solids::ContactPoint>(points, "points");
  out.clear();
  Index first = 0;
  for (py::ssize_t i = 0; i < groups.size() / 3; ++i) {
    out.groups.push_back({{g[3 * i], g[3 * i + 1]}, g[3 * i + 2], first});
    first += g[3 * i + 2];
  }
  require(first == static_cast<Index>(p.size()), "groups have ", first, " points, not ", p.size());
  out.points.assign(p.begin(), p.end());
}

}  // namespace meniscus::bindings
