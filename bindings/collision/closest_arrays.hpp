// Arrays of closest points of a mesh: distances (n,), triangles (n,), barycentric coordinates (n, 3) and positions (n, 3).
#pragma once

#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"

#include <cmath>

namespace meniscus::bindings {

/// `find(points, out)` fills the closest points without the GIL.
template <class Find>
py::tuple closest_arrays(const py::array& points, Find&& find) {
  const auto x = positions_of(points, "points");
  const auto n = static_cast<py::ssize_t>(x.size());
  py::array_t<double> distances(n);
  py::array_t<std::int32_t> triangles(n);
  py::array_t<double> barycentric({n, py::ssize_t{3}});
  py::array_t<double> positions({n, py::ssize_t{3}});
  double* const distance = distances.mutable_data();
  std::int32_t* const triangle = triangles.mutable_data();
  double* const weights = barycentric.mutable_data();
  double* const position = positions.mutable_data();
  interruptible([&] {
    std::vector<collision::MeshPoint> found(x.size());
    find(x, std::span<collision::MeshPoint>(found));
    for (std::size_t i = 0; i < found.size(); ++i) {
      distance[i] = std::sqrt(found[i].squared_distance);
      triangle[i] = found[i].triangle;
      std::copy_n(found[i].barycentric.data(), 3, weights + 3 * i);
      std::copy_n(found[i].position.data(), 3, position + 3 * i);
    }
  });
  return py::make_tuple(distances, triangles, barycentric, positions);
}

}  // namespace meniscus::bindings
