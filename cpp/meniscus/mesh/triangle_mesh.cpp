#include "meniscus/mesh/triangle_mesh.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::mesh {

void require_finite(std::span<const Point> positions, const char* name) {
  // Of finite numbers only, the difference from themselves is zero; this loop has lanes, the one that finds the first has not.
  const double* const x = positions.empty() ? nullptr : positions.data()->data();
  int bad = 0;
  for (std::size_t k = 0; k < 3 * positions.size(); ++k) bad |= x[k] - x[k] != 0;
  if (!bad) return;
  for (std::size_t i = 0; i < positions.size(); ++i)
    for (int d = 0; d < 3; ++d)
      require(std::isfinite(positions[i][d]), name, " must be finite, but [", i, ", ", d, "] is ", positions[i][d]);
}

void require_measurable(std::span<const Point> positions, const char* name) {
  constexpr double most = 1e60;  // sums of triangles contain fifth powers
  for (std::size_t i = 0; i < positions.size(); ++i)
    for (int d = 0; d < 3; ++d) {
      const double x = positions[i][d];
      require(std::isfinite(x), name, " must be finite, but [", i, ", ", d, "] is ", x);
      require(std::abs(x) <= most, name, " must be at most ", most, " m in size, or powers of distances overflow, but [", i, ", ",
              d, "] is ", x);
    }
}

void require_valid(const TriangleMeshView& mesh) {
  require(!mesh.triangles.empty(), "triangles must hold at least one triangle");
  require(mesh.vertices.size() <= 2147483647 && mesh.triangles.size() <= 2147483647, "a mesh can have at most 2147483647 ",
          "vertices and as many triangles, not ", mesh.vertices.size(), " and ", mesh.triangles.size());
  const auto n = static_cast<std::int64_t>(mesh.vertices.size());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t v = mesh.triangles[t][k];
      require(v >= 0 && v < n, "triangles must hold indices of the ", n, " vertices, but [", t, ", ", k, "] is ", v);
    }
  require_finite(mesh.vertices, "vertices");
}

}  // namespace meniscus::mesh
