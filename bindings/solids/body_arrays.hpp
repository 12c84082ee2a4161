// Conversion of the array arguments of bodies and their steps.
#pragma once

#include "collision/triangle_arrays.hpp"

#include "meniscus/solids/constraints.hpp"

namespace meniscus::bindings {

inline solids::Points writable_points(const py::array& a, const char* name, Index n) {
  double* first = data_of<double>(a, name, 3 * n, true);
  return {reinterpret_cast<mesh::Point*>(first), static_cast<std::size_t>(n)};
}

inline solids::ConstPoints points_of(const py::array& a, const char* name, Index n) {
  const solids::ConstPoints p = positions_of(a, name);
  require(static_cast<Index>(p.size()) == n, name, " must have ", n, " rows, one per node, not ", p.size());
  return p;
}

/// Prescribed motion of nodes from five arrays: positions in the middle and at the end of a step, then velocities at its start,
/// in its middle and at its end. None is no motion.
inline solids::NodeMotion motion_of(const py::object& given) {
  if (given.is_none()) return {};
  const auto arrays = given.cast<std::vector<py::array>>();
  require(arrays.size() == 5, "a motion has five arrays, not ", arrays.size());
  const auto at = [&](std::size_t k) { return positions_of(arrays[k], "the motion"); };
  return {at(0), at(1), at(2), at(3), at(4)};
}

// What `bind_deformable_body` binds as well.
void bind_body_system(py::module_& m);
void bind_node_rows(py::module_& m);
void bind_barrier_step(py::module_& m);

}  // namespace meniscus::bindings
