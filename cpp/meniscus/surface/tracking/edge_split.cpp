#include "meniscus/surface/tracking/edge_split.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/surface/tracking/edge_lists.hpp"
#include "meniscus/surface/tracking/placement/butterfly.hpp"

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;

constexpr int most_split_passes = 10;

/// Part of the edge that neighbours must not move the vertex beyond.
constexpr double most_bulge = 0.25;

Point middle(const DynamicSurface& s, std::int32_t a, std::int32_t b) { return 0.5 * (s.position(a) + s.position(b)); }

}  // namespace

SplitEdge edit_split(SurfaceEditor& editor, std::int32_t a, std::int32_t b, const Point& place) {
  DynamicSurface& s = editor.mesh;
  thread_local std::vector<std::int32_t> triangles;
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
  return {e, turned};
}

Refusal split_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b) {
  DynamicSurface& s = editor.mesh;
  const Point half = middle(s, a, b);
  const bool one_fixed = editor.fixed(a) && editor.fixed(b);
  Point smooth = editor.options().butterfly && !one_fixed ? butterfly_point(s, a, b) : half;
  const double most = most_bulge * editor.length(a, b);
  if ((smooth - half).norm() > most) smooth = half + (smooth - half).normalized() * most;
  Refusal end = Refusal::none;
  for (const bool second : {false, true}) {
    if (second && smooth == half) break;
    const Point& place = second ? half : smooth;
    editor.begin();
    const SplitEdge made = edit_split(editor, a, b, place);
    if (made.turned) {
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
