// Functions of points that Python gives, as the core calls them.
#pragma once

#include "collision/triangle_arrays.hpp"

#include "meniscus/core/finite_values.hpp"
#include "meniscus/surface/shapes/implicit_shape.hpp"

#include <algorithm>
#include <functional>
#include <memory>

namespace meniscus::bindings {

/// A Python function of points (n, 3), which must outlive this; the GIL is taken for the call.
inline std::function<void(std::span<const mesh::Point>, std::span<double>)> called(const py::object& function,
                                                                                   const char* values_name) {
  return [&function, values_name](std::span<const mesh::Point> points, std::span<double> values) {
    with_gil([&] {
      py::array_t<double> x({static_cast<py::ssize_t>(points.size()), py::ssize_t{3}});
      if (!points.empty()) std::copy_n(points[0].data(), 3 * points.size(), x.mutable_data());
      const py::array result = py::cast<py::array>(function(x));
      const double* const first = data_of<double>(result, values_name, static_cast<Index>(values.size()));
      std::copy_n(first, values.size(), values.begin());
    });
  };
}

/// A signed distance that Python gives as a function of points or as a shape of the core, which is asked without Python; the
/// values of a shape must be finite. `distance` must outlive this.
inline std::function<void(std::span<const mesh::Point>, std::span<double>)> called_distance(const py::object& distance,
                                                                                            const char* values_name) {
  using Shape = surface::ImplicitShape<3>;
  if (!py::isinstance<Shape>(distance)) {
    if (!py::isinstance<py::function>(distance)) throw py::type_error("distance must be a function of points or a shape");
    return called(distance, values_name);
  }
  return [shape = py::cast<std::shared_ptr<Shape>>(distance), values_name](std::span<const mesh::Point> points,
                                                                           std::span<double> values) {
    if (points.empty()) return;
    const auto n = static_cast<Index>(points.size());
    surface::signed_distance<3>(*shape, points[0].data(), n, values.data());
    const Index bad = core::first_not_finite(values.data(), n);
    core::require(bad < 0, values_name, " must be finite, but [", bad, "] is ",
                  values[static_cast<std::size_t>(std::max<Index>(bad, 0))]);
  };
}

}  // namespace meniscus::bindings
