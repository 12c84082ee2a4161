#include "meniscus/mesh/repair/hole_filling.hpp"

#include <limits>

namespace meniscus::mesh {
namespace {

/// Loops with more vertices than this are not worth the cube of their number.
constexpr std::size_t longest_exact = 300;

/// Of all triangulations of the polygon the one with the least area, by those of its parts.
std::vector<Triangle> least_area(std::span<const Point> x, std::span<const std::int32_t> loop) {
  const std::size_t n = loop.size();
  std::vector<double> area(n * n, 0.0);
  std::vector<std::size_t> middle(n * n, 0);
  const auto at = [&](std::size_t i) -> const Point& { return x[loop[i]]; };
  for (std::size_t span = 2; span < n; ++span)
    for (std::size_t i = 0; i + span < n; ++i) {
      const std::size_t k = i + span;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t m = i + 1; m < k; ++m) {
        const double sum = area[i * n + m] + area[m * n + k] + area_vector(at(i), at(m), at(k)).norm();
        if (sum < least) {
          least = sum;
          middle[i * n + k] = m;
        }
      }
      area[i * n + k] = least;
    }
  std::vector<Triangle> result;
  std::vector<std::array<std::size_t, 2>> parts{{0, n - 1}};
  while (!parts.empty()) {
    const auto [i, k] = parts.back();
    parts.pop_back();
    if (k < i + 2) continue;
    const std::size_t m = middle[i * n + k];
    result.push_back({loop[i], loop[m], loop[k]});
    parts.push_back({i, m});
    parts.push_back({m, k});
  }
  return result;
}

std::vector<Triangle> cut_corners(std::span<const Point> x, std::span<const std::int32_t> loop) {
  std::vector<std::int32_t> rest(loop.begin(), loop.end());
  std::vector<Triangle> result;
  while (rest.size() > 3) {
    const std::size_t n = rest.size();
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      const double length = (x[rest[(i + 1) % n]] - x[rest[(i + n - 1) % n]]).squaredNorm();
      if (length < least) {
        least = length;
        best = i;
      }
    }
    result.push_back({rest[(best + n - 1) % n], rest[best], rest[(best + 1) % n]});
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(best));
  }
  result.push_back({rest[0], rest[1], rest[2]});
  return result;
}

}  // namespace

std::vector<Triangle> triangulated_loop(std::span<const Point> vertices, std::span<const std::int32_t> loop) {
  if (loop.size() < 3) return {};
  return loop.size() <= longest_exact ? least_area(vertices, loop) : cut_corners(vertices, loop);
}

}  // namespace meniscus::mesh
