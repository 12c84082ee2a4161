// Tests of fans of rays: what is answered for many ways at once is what each of them gets alone.
#include "meniscus/collision/ray_casting/thick_surface.hpp"
#include "meniscus/core/simd.hpp"

#include <doctest/doctest.h>

#include <random>

namespace meniscus {
namespace {

using collision::ThickSurface;
using collision::WedgeHit;

/// Triangles of a size in a box of length 1 around `center`; every fifth is a needle, every seventh has no area, and some lie in
/// planes of the axes.
std::vector<mesh::Point> soup(std::mt19937_64& bits, std::size_t count, double size, const mesh::Point& center) {
  std::uniform_real_distribution<double> coordinate(-0.5, 0.5);
  const auto random = [&] { return mesh::Point(coordinate(bits), coordinate(bits), coordinate(bits)); };
  std::vector<mesh::Point> x;
  for (std::size_t i = 0; i < count; ++i) {
    const mesh::Point a = center + random();
    mesh::Point b = a + size * random(), c = a + size * random();
    if (i % 5 == 0) c = b + 1e-7 * size * random();
    if (i % 7 == 0) c = a;
    if (i % 11 == 0) b[0] = c[0] = a[0];
    for (const mesh::Point& p : {a, b, c}) x.push_back(p);
  }
  return x;
}

/// Leaves the level of before.
struct AtLevel {
  core::SimdLevel before = core::simd_level();
  explicit AtLevel(core::SimdLevel level) { core::set_simd_level(level); }
  ~AtLevel() { core::set_simd_level(before); }
  AtLevel(const AtLevel&) = delete;
  AtLevel& operator=(const AtLevel&) = delete;
};

void compare(const ThickSurface& surface, const mesh::Point& origin, const std::vector<mesh::Point>& targets) {
  mesh::Box box;
  box.add(origin);
  for (const mesh::Point& t : targets) box.add(t);
  std::vector<std::int32_t> slots;
  surface.list_near(box, slots);
  for (const mesh::Point& t : targets) CHECK(surface.inside(t, slots) == surface.inside(t));
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!surface.visible(origin, targets[i])) expected |= 1u << i;
  std::array<WedgeHit, 32> hits, listed;
  CHECK(surface.cast_fan(origin, targets, nullptr) == expected);
  CHECK(surface.cast_fan(origin, targets, slots, nullptr) == expected);
  CHECK(surface.cast_fan(origin, targets, hits.data()) == expected);
  CHECK(surface.cast_fan(origin, targets, slots, listed.data()) == expected);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!((expected >> i) & 1u)) continue;
    const WedgeHit alone = surface.cast(origin, targets[i]);
    for (const WedgeHit& hit : {hits[i], listed[i]}) {
      CHECK(hit.triangle == alone.triangle);
      CHECK(hit.fraction == alone.fraction);
    }
  }
}

TEST_CASE("fans of rays see what single rays see") {
  std::mt19937_64 bits(3);
  std::uniform_real_distribution<double> part(0, 1), coordinate(-0.5, 0.5);
  for (const double size : {0.02, 0.3, 3.0})
    for (const double thickness : {0.0, 1e-4, 3e-2})
      for (const double away : {0.0, 1e3}) {
        const mesh::Point center(away, -away, 0.5 * away);
        const auto vertices = soup(bits, size > 1 ? 40 : 400, size, center);
        std::vector<mesh::Triangle> triangles;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(vertices.size()); i += 3) triangles.push_back({i, i + 1, i + 2});
        const ThickSurface surface(vertices, triangles, thickness, {});
        for (int trial = 0; trial < 60; ++trial) {
          mesh::Point low, origin;
          const double h = trial % 3 == 0 ? 0.3 : 0.05;
          for (int d = 0; d < 3; ++d) {
            low[d] = center[d] + coordinate(bits);
            origin[d] = low[d] + h * part(bits);
          }
          // From a vertex, along an edge and in a plane of the axes, too.
          if (trial % 4 == 1) origin = vertices[trial];
          std::vector<mesh::Point> targets;
          for (int q = 0; q < (trial % 2 == 0 ? 8 : 29); ++q) {
            mesh::Point t = low;
            for (int d = 0; d < 3; ++d) t[d] += q < 8 ? h * ((q >> d) & 1) : h * part(bits);
            if (q == 9) t = origin;
            if (q == 10) t = vertices[static_cast<std::size_t>(trial) + 1];
            if (q == 11) t[0] = origin[0];
            targets.push_back(t);
          }
          for (const core::SimdLevel level : {core::SimdLevel::baseline, core::simd_supported()}) {
            const AtLevel now(level);
            compare(surface, origin, targets);
          }
        }
      }
}

}  // namespace
}  // namespace meniscus
