// Arrays of closest points of a mesh: distances (n,), triangles (n,), barycentric coordinates (n, 3) and positions (n, 3).
#pragma once

#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"

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
  const collision::ClosestPointColumns out{distances.mutable_data(), triangles.mutable_data(), barycentric.mutable_data(),
                                           positions.mutable_data()};
  interruptible([&] {
    std::vector<collision::MeshPoint> found(x.size());
    find(x, std::span<collision::MeshPoint>(found));
    store_closest_points(found, out);
  });
  return py::make_tuple(distances, triangles, barycentric, positions);
}

}  // namespace meniscus::bindings
