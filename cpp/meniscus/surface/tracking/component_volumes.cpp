#include "meniscus/surface/tracking/component_volumes.hpp"

#include "meniscus/numerics/graph/disjoint_sets.hpp"

namespace meniscus::surface {

using mesh::Point;
using mesh::Triangle;

ComponentVolumes measure_components(const mesh::TriangleMeshView& surface) {
  const std::span<const Point> x = surface.vertices;
  numerics::DisjointSets<std::int32_t> sets;
  sets.reset(static_cast<Index>(x.size()));
  for (const Triangle& c : surface.triangles) {
    sets.join(c[0], c[1]);
    sets.join(c[0], c[2]);
  }
  ComponentVolumes out;
  out.part.assign(x.size(), -1);
  std::vector<Point> origin;
  for (const Triangle& c : surface.triangles) {
    const std::int32_t root = sets.root(c[0]);
    if (out.part[root] < 0) {
      out.part[root] = static_cast<std::int32_t>(origin.size());
      origin.push_back(x[root]);
    }
  }
  for (const Triangle& c : surface.triangles)
    for (const std::int32_t v : c) out.part[v] = out.part[sets.root(v)];
  out.volume.assign(origin.size(), 0.0);
  out.area.assign(origin.size(), 0.0);
  // Each edge of a closed surface is traversed as often in one direction as in the other: then numbers that stand for directed
  // edges cancel.
  std::vector<std::uint64_t> left(origin.size(), 0);
  const auto number_of = [](std::int32_t a, std::int32_t b) {
    std::uint64_t n = static_cast<std::uint64_t>(std::min(a, b)) << 32 | static_cast<std::uint32_t>(std::max(a, b));
    n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
    return a < b ? n : 0 - n;
  };
  for (const Triangle& c : surface.triangles) {
    const std::int32_t p = out.part[c[0]];
    const Point a = x[c[0]] - origin[p], b = x[c[1]] - origin[p], d = x[c[2]] - origin[p];
    const Point area = (b - a).cross(d - a);
    out.volume[p] += a.dot(b.cross(d)) / 6;
    out.area[p] += area.norm() / 2;
    for (std::size_t k = 0; k < 3; ++k) left[p] += number_of(c[k], c[(k + 1) % 3]);
  }
  out.closed.resize(origin.size());
  for (std::size_t p = 0; p < origin.size(); ++p) out.closed[p] = static_cast<std::uint8_t>(left[p] == 0);
  return out;
}

void offset_components(const mesh::TriangleMeshView& surface, const ComponentVolumes& parts, std::span<const double> missing,
                       std::span<Point> out) {
  const std::span<const Point> x = surface.vertices;
  std::fill(out.begin(), out.end(), Point(Point::Zero()));
  for (const Triangle& c : surface.triangles) {
    const Point area = mesh::area_vector(x[c[0]], x[c[1]], x[c[2]]);
    for (const std::int32_t v : c) out[v] += area;
  }
  std::vector<double> gain(parts.volume.size(), 0.0);
  for (std::size_t v = 0; v < x.size(); ++v) {
    const double size = out[v].norm();
    if (!(size > 0)) continue;
    // The volume grows by a third of half the sum of area vectors, times the displacement.
    gain[parts.part[v]] += size / 6;
    out[v] /= size;
  }
  for (std::size_t v = 0; v < x.size(); ++v) {
    const std::int32_t p = parts.part[v];
    out[v] *= p >= 0 && parts.closed[p] != 0 && gain[p] > 0 ? missing[p] / gain[p] : 0.0;
  }
}

}  // namespace meniscus::surface
