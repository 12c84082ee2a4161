#include "meniscus/surface/tracking/edge_split.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/surface/tracking/edge_lists.hpp"

#include <cmath>
#include <numbers>

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;

constexpr int most_split_passes = 10;

/// Part of the edge that neighbours must not move the vertex beyond.
constexpr double most_bulge = 0.25;

Point middle(const DynamicSurface& s, std::int32_t a, std::int32_t b) { return 0.5 * (s.position(a) + s.position(b)); }

/// The place by the neighbours of `a` alone, which has other than six of them; nothing at the boundary.
std::optional<Point> irregular_point(const DynamicSurface& s, std::int32_t a, std::int32_t b, std::vector<std::int32_t>& ring) {
  if (!s.ring(a, b, ring)) return std::nullopt;
  const auto n = static_cast<double>(ring.size());
  Point sum = 0.75 * s.position(a);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / n;
    double w = (0.25 + std::cos(turn) + 0.5 * std::cos(2 * turn)) / n;
    if (ring.size() == 3) w = i == 0 ? 5.0 / 12 : -1.0 / 12;
    if (ring.size() == 4) w = i == 0 ? 0.375 : i == 2 ? -0.125 : 0;
    sum += w * s.position(ring[i]);
  }
  return sum;
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

Point butterfly_point(const DynamicSurface& s, std::int32_t a, std::int32_t b) {
  const Point half = middle(s, a, b);
  if (s.on_boundary(a, b)) {
    const std::int32_t p = along_boundary(s, a, b), q = along_boundary(s, b, a);
    if (p < 0 || q < 0 || p == q || boundary_turns(s, a) || boundary_turns(s, b)) return half;
    return half + (half - 0.5 * (s.position(p) + s.position(q))) / 8;
  }
  const auto pair = s.pair_at(a, b);
  if (!pair || on_crease(s, a) || on_crease(s, b)) return half;
  thread_local std::vector<std::int32_t> ring_a, ring_b;
  const bool closed_a = s.ring(a, b, ring_a), closed_b = s.ring(b, a, ring_b);
  if (!closed_a || !closed_b) return half;
  if (ring_a.size() == 6 && ring_b.size() == 6) {
    // Neighbours of an end, counted from the other end: 1 and 5 are opposite corners, 2 and 4 lie beyond the outer edges.
    const auto x = [&](std::int32_t v) -> const Point& { return s.position(v); };
    return (8 * (x(a) + x(b)) + 2 * (x(ring_a[1]) + x(ring_a[5])) - (x(ring_a[2]) + x(ring_a[4]) + x(ring_b[2]) + x(ring_b[4]))) /
           16;
  }
  const bool regular_a = ring_a.size() == 6, regular_b = ring_b.size() == 6;
  if (regular_a) return *irregular_point(s, b, a, ring_b);
  if (regular_b) return *irregular_point(s, a, b, ring_a);
  return 0.5 * (*irregular_point(s, a, b, ring_a) + *irregular_point(s, b, a, ring_b));
}

Refusal split_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b) {
  DynamicSurface& s = editor.mesh;
  const Point half = middle(s, a, b);
  const bool one_fixed = editor.fixed(a) && editor.fixed(b);
  Point smooth = editor.options().butterfly && !one_fixed ? butterfly_point(s, a, b) : half;
  const double most = most_bulge * editor.length(a, b);
  if ((smooth - half).norm() > most) smooth = half + (smooth - half).normalized() * most;
  thread_local std::vector<std::int32_t> triangles;
  Refusal end = Refusal::none;
  for (const bool second : {false, true}) {
    if (second && smooth == half) break;
    const Point& place = second ? half : smooth;
    editor.begin();
    triangles.clear();
    s.for_each_at_edge(a, b, [&](std::int32_t t) { triangles.push_back(t); });
    std::sort(triangles.begin(), triangles.end());
    const std::int32_t e = s.add_vertex(place);
    editor.transfers.vertices.insert(editor.transfers.vertices.end(),
                                     {{e, a, 0.5, 0.25}, {e, b, 0.5, 0.25}, {a, a, 1, 0.75}, {b, b, 1, 0.75}});
    editor.transfers.edge(a, e, a, b, 1, 0.5);
    editor.transfers.edge(b, e, a, b, 1, 0.5);
    bool turned = false;
    for (const std::int32_t t : triangles) {
      editor.sweep(t, place, e);
      const Point before = s.area_vector(t);
      const std::int32_t c = s.opposite(t, a, b);
      const bool forward = s.traverses(t, a, b);
      s.remove_triangle(t);
      for (const std::int32_t v : {a, b}) {
        // The half at the end v: from v on along the edge, or back to it.
        const bool from_end = (v == a) == forward;
        const std::int32_t fresh = s.add_triangle(from_end ? mesh::Triangle{v, e, c} : mesh::Triangle{e, v, c});
        editor.transfers.triangles.push_back({fresh, t, 1, 0.5});
        turned |= !(s.area_vector(fresh).dot(before) > 0);
        editor.transfers.edge(e, c, v, c, 0.5, 0);
      }
    }
    if (turned) {
      end = editor.refuse(Refusal::normal);
      continue;
    }
    editor.end_part(mesh::EventKind::split);
    const std::array edge{a, b};
    end = editor.commit(mesh::EventKind::split, edge, std::numeric_limits<double>::infinity());
    if (end == Refusal::none || end == Refusal::veto) break;
  }
  return end;
}

void split_edges(SurfaceEditor& editor) {
  const DynamicSurface& s = editor.mesh;
  EdgeList list;
  std::vector<std::int32_t> triangles(s.slots());
  for (std::int32_t t = 0; t < s.slots(); ++t) triangles[t] = t;
  for (int pass = 0; pass < most_split_passes; ++pass) {
    collect_edges(s, triangles, AskAt::every_triangle, list, [&](std::int32_t a, std::int32_t b) -> double {
      if (editor.fixed(a) && editor.fixed(b)) return 0;
      if (editor.options().frozen_boundary && s.on_boundary(a, b)) return 0;
      const double length = editor.length(a, b);
      // The scale is at most 1.
      if (length <= editor.longest() * (editor.options().curvature > 0 ? editor.options().finest : 1)) return 0;
      return length > editor.longest() * editor.scale(a, b) ? -length : 0;
    });
    triangles.clear();
    for (const RankedEdge& e : list.edges) {
      check_interrupt();
      if (s.count_at_edge(e.a, e.b) == 0) continue;
      const Refusal end = split_edge(editor, e.a, e.b);
      editor.counts.split.add(end);
      if (end == Refusal::none) triangles.insert(triangles.end(), editor.changed().begin(), editor.changed().end());
    }
    if (triangles.empty()) return;
  }
}

}  // namespace meniscus::surface
