#include "meniscus/surface/tracking/separation.hpp"

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;
using mesh::Triangle;

/// A vertex that is parted from another one goes so far towards the middle of its own neighbours, as part of the way.
constexpr double parting_way = 0.1;

bool same_corners(const Triangle& a, const Triangle& b) {
  for (const std::int32_t v : a)
    if (std::find(b.begin(), b.end(), v) == b.end()) return false;
  return true;
}

/// The triangles of the star of v, sheet by sheet; `first` holds where each begins.
void find_sheets(const DynamicSurface& s, std::int32_t v, bool through_inside, std::vector<std::int32_t>& order,
                 std::vector<std::size_t>& first) {
  const auto star = s.star(v);
  std::vector<std::int32_t> left(star.begin(), star.end());
  std::sort(left.begin(), left.end());
  order.clear();
  first.assign(1, 0);
  while (!left.empty()) {
    std::size_t at = order.size();
    order.push_back(left.front());
    left.erase(left.begin());
    const auto take = [&](std::int32_t t) {
      const auto found = std::find(left.begin(), left.end(), t);
      if (found == left.end()) return;
      left.erase(found);
      order.push_back(t);
    };
    for (; at < order.size(); ++at) {
      const std::int32_t t = order[at];
      for (const std::int32_t w : s.link(t, v)) {
        if (s.count_at_edge(v, w) > 2)
          take(s.partner(t, v, w, through_inside));
        else
          s.for_each_at_edge(v, w, take);
      }
    }
    first.push_back(order.size());
  }
}

/// Amounts of vertices and edges that go with a pair of triangles go to those of its vertices and edges that stay, if any do.
void leave_amounts(SurfaceEditor& editor, const Triangle& c) {
  const DynamicSurface& s = editor.mesh;
  mesh::EventTransfers& transfers = editor.transfers;
  const auto stays = [&](std::int32_t v) { return !s.star(v).empty(); };
  const auto kept = std::find_if(c.begin(), c.end(), stays);
  if (kept != c.end())
    for (const std::int32_t v : c)
      if (!stays(v)) transfers.leave_vertex(v, *kept);
  // Any edge at a vertex that stays.
  if (kept == c.end()) return;
  const std::array<std::int32_t, 2> heir{*kept, s.link(s.star(*kept).front(), *kept)[0]};
  for (std::size_t k = 0; k < 3; ++k)
    if (s.count_at_edge(c[k], c[(k + 1) % 3]) == 0) transfers.leave_edge({c[k], c[(k + 1) % 3]}, heir);
}

/// Removes pairs of triangles back to back. False for two triangles that are the same.
bool remove_flaps(SurfaceEditor& editor, std::vector<std::int32_t>& touched) {
  DynamicSurface& s = editor.mesh;
  std::vector<std::int32_t> fresh;
  s.changed(0, fresh);
  for (const std::int32_t t : fresh) {
    if (!s.alive(t)) continue;
    const Triangle c = s.triangle(t);
    std::int32_t twin = -1;
    for (const std::int32_t u : s.star(c[0]))
      if (u != t && same_corners(c, s.triangle(u))) twin = u;
    if (twin < 0) continue;
    if (s.traverses(twin, c[0], c[1])) return false;
    if (!editor.options().topology) return false;
    s.remove_triangle(t);
    s.remove_triangle(twin);
    leave_amounts(editor, c);
    // Amounts go to a neighbour.
    std::int32_t heir = -1;
    for (std::size_t k = 0; k < 3 && heir < 0; ++k)
      s.for_each_at_edge(c[k], c[(k + 1) % 3], [&](std::int32_t u) { heir = std::max(heir, u); });
    if (heir >= 0)
      for (const std::int32_t gone : {t, twin}) editor.transfers.leave_triangle(gone, heir);
    ++editor.counts.flaps;
    touched.insert(touched.end(), c.begin(), c.end());
  }
  return true;
}

/// Vertices that sheets have got, what they were before, and edges that had more than two triangles.
struct Parting {
  std::vector<std::int32_t> moved;
  std::vector<std::array<std::int32_t, 2>> copies, crowded;

  std::int32_t original(std::int32_t v) const {
    for (const auto& [copy, of] : copies)
      if (copy == v) return of;
    return v;
  }
  bool was_crowded(std::int32_t v, std::int32_t w) const {
    return std::find(crowded.begin(), crowded.end(), std::array{std::min(v, w), std::max(v, w)}) != crowded.end();
  }
};

/// Parts the sheets at a vertex.
bool part_sheets(SurfaceEditor& editor, std::int32_t v, Parting& parting) {
  DynamicSurface& s = editor.mesh;
  std::vector<std::int32_t> order, around;
  std::vector<std::size_t> first;
  find_sheets(s, v, true, order, first);
  const std::size_t sheets = first.size() - 1;
  if (sheets < 2) return true;
  if (!editor.options().topology || editor.fixed(v)) return false;
  s.neighbours(v, around);
  for (const std::int32_t w : around)
    if (s.count_at_edge(v, w) > 2) {
      parting.crowded.push_back({std::min(v, w), std::max(v, w)});
      editor.transfers.edge(v, w, v, w, 1, 0.5);
    }
  editor.transfers.vertices.push_back({v, v, 1, 1.0 / static_cast<double>(sheets)});
  parting.moved.push_back(v);
  for (std::size_t k = 1; k < sheets; ++k) {
    const std::int32_t own = s.add_vertex(s.position(v));
    editor.transfers.vertices.push_back({own, v, 1, 1.0 / static_cast<double>(sheets)});
    for (std::size_t i = first[k]; i < first[k + 1]; ++i) {
      mesh::Triangle c = s.triangle(order[i]);
      for (const std::int32_t w : s.link(order[i], v)) {
        // Both triangles of an edge come by.
        const std::int32_t x = parting.original(w);
        editor.transfers.edge(own, w, v, x, 0.5, parting.was_crowded(v, x) ? 0.25 : 0.5);
      }
      std::replace(c.begin(), c.end(), v, own);
      editor.replace(order[i], c);
    }
    parting.copies.push_back({own, v});
    parting.moved.push_back(own);
  }
  editor.counts.pinches += static_cast<Index>(sheets) - 1;
  return true;
}

}  // namespace

bool separate_sheets(SurfaceEditor& editor, mesh::EventKind kind) {
  DynamicSurface& s = editor.mesh;
  const TrackingCounts counts = editor.counts;
  std::vector<std::int32_t> touched, fresh;
  Parting parting;
  if (!remove_flaps(editor, touched)) return false;
  s.changed(0, fresh);
  for (const std::int32_t t : fresh)
    for (const std::int32_t v : s.triangle(t)) touched.push_back(v);
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  editor.end_part(kind);
  for (const std::int32_t v : touched)
    if (!part_sheets(editor, v, parting)) {
      editor.counts = counts;
      return false;
    }
  const std::vector<std::int32_t>& moved = parting.moved;
  if (moved.empty()) return true;
  // From where they touch, into their own sides.
  std::vector<Point> to(moved.size());
  std::vector<std::int32_t> around;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    s.neighbours(moved[i], around);
    Point middle = Point::Zero();
    for (const std::int32_t w : around) middle += s.position(w);
    to[i] = s.position(moved[i]) + parting_way * (middle / static_cast<double>(around.size()) - s.position(moved[i]));
  }
  for (std::size_t i = 0; i < moved.size(); ++i) {
    for (const std::int32_t t : s.star(moved[i])) editor.sweep(t, to[i], moved[i]);
    s.move(moved[i], to[i]);
  }
  editor.end_part(mesh::EventKind::pinch);
  return true;
}

}  // namespace meniscus::surface
