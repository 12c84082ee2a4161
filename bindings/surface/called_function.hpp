// Functions of points that Python gives, as the core calls them.
#pragma once

#include "collision/triangle_arrays.hpp"

#include <functional>

namespace meniscus::bindings {

/// A Python function of points (n, 3), which must outlive this; the GIL is taken for the call.
inline std::function<void(std::span<const mesh::Point>, std::span<double>)> called(const py::function& function,
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

}  // namespace meniscus::bindings
