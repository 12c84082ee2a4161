#include "meniscus/surface/tracking/placement/butterfly.hpp"

#include "meniscus/surface/tracking/surface_editor.hpp"

#include <cmath>
#include <numbers>

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;

/// Adds `part` of the weights by the neighbours of `a`, which has other than six of them; `ring` begins with the other end.
void add_irregular(std::int32_t a, std::span<const std::int32_t> ring, double part, std::vector<VertexWeight>& out) {
  const auto n = static_cast<double>(ring.size());
  out.push_back({a, part * 0.75});
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / n;
    double w = (0.25 + std::cos(turn) + 0.5 * std::cos(2 * turn)) / n;
    if (ring.size() == 3) w = i == 0 ? 5.0 / 12 : -1.0 / 12;
    if (ring.size() == 4) w = i == 0 ? 0.375 : i == 2 ? -0.125 : 0;
    if (w != 0) out.push_back({ring[i], part * w});
  }
}

/// The other end of the other boundary edge at v; -1 where there are more of them.
std::int32_t along_boundary(const DynamicSurface& s, std::int32_t v, std::int32_t from) {
  std::int32_t found = -1;
  for (const std::int32_t t : s.star(v))
    for (const std::int32_t w : s.link(t, v)) {
      if (w == from || !s.on_boundary(v, w)) continue;
      if (found >= 0) return -1;
      found = w;
    }
  return found;
}

}  // namespace

bool boundary_turns(const DynamicSurface& s, std::int32_t v) {
  std::array<Point, 2> along;
  std::size_t found = 0;
  for (const std::int32_t t : s.star(v))
    for (const std::int32_t w : s.link(t, v)) {
      if (!s.on_boundary(v, w)) continue;
      if (found == 2) return true;
      along[found++] = (s.position(w) - s.position(v)).normalized();
    }
  return found != 2 || along[0].dot(along[1]) > -0.8;
}

void midpoint_weights(std::int32_t a, std::int32_t b, std::vector<VertexWeight>& out) { out.assign({{a, 0.5}, {b, 0.5}}); }

void butterfly_weights(const DynamicSurface& s, std::int32_t a, std::int32_t b, std::vector<VertexWeight>& out) {
  midpoint_weights(a, b, out);
  if (s.on_boundary(a, b)) {
    const std::int32_t p = along_boundary(s, a, b), q = along_boundary(s, b, a);
    if (p < 0 || q < 0 || p == q || boundary_turns(s, a) || boundary_turns(s, b)) return;
    out.assign({{a, 9.0 / 16}, {b, 9.0 / 16}, {p, -1.0 / 16}, {q, -1.0 / 16}});
    return;
  }
  const auto pair = s.pair_at(a, b);
  if (!pair || on_crease(s, a) || on_crease(s, b)) return;
  thread_local std::vector<std::int32_t> ring_a, ring_b;
  const bool closed_a = s.ring(a, b, ring_a), closed_b = s.ring(b, a, ring_b);
  if (!closed_a || !closed_b) return;
  out.clear();
  const bool regular_a = ring_a.size() == 6, regular_b = ring_b.size() == 6;
  if (regular_a && regular_b) {
    // Neighbours of an end, counted from the other end: 1 and 5 are opposite corners, 2 and 4 lie beyond the outer edges.
    constexpr double far = -1.0 / 16;
    out.assign({{a, 0.5},
                {b, 0.5},
                {ring_a[1], 0.125},
                {ring_a[5], 0.125},
                {ring_a[2], far},
                {ring_a[4], far},
                {ring_b[2], far},
                {ring_b[4], far}});
    return;
  }
  if (regular_a) return add_irregular(b, ring_b, 1, out);
  if (regular_b) return add_irregular(a, ring_a, 1, out);
  add_irregular(a, ring_a, 0.5, out);
  add_irregular(b, ring_b, 0.5, out);
}

Point butterfly_point(const DynamicSurface& s, std::int32_t a, std::int32_t b) {
  thread_local std::vector<VertexWeight> weights;
  butterfly_weights(s, a, b, weights);
  return weighted(weights, Point(Point::Zero()), [&](std::int32_t v) -> const Point& { return s.position(v); });
}

}  // namespace meniscus::surface
