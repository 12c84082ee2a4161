#include "meniscus/surface/tracking/edge_flip.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/surface/tracking/edge_lists.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;

/// Of the length of an edge: it has to become so much shorter, or flips would come and go.
constexpr double least_gain = 1e-6;
/// Of the area of both triangles.
constexpr double most_area_change = 0.1;

/// Whether the diagonal cd is so much shorter that the flip is worth a try.
bool shorter(const DynamicSurface& s, std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
  return (s.position(c) - s.position(d)).norm() < (1 - least_gain) * (s.position(a) - s.position(b)).norm();
}

/// The two triangles of a flip.
std::optional<std::array<std::int32_t, 2>> flipped_pair(const DynamicSurface& s, std::int32_t a, std::int32_t b) {
  if (const auto pair = s.pair_at(a, b)) return pair;
  if (s.count_at_edge(a, b) != 4) return std::nullopt;
  std::int32_t first = -1;
  s.for_each_at_edge(a, b, [&](std::int32_t t) {
    if (s.traverses(t, a, b) && (first < 0 || t < first)) first = t;
  });
  if (first < 0) return std::nullopt;
  const std::int32_t second = s.partner(first, a, b, true);
  if (second < 0) return std::nullopt;
  return std::array{first, second};
}

}  // namespace

void edit_flip(SurfaceEditor& editor, std::int32_t t, std::int32_t u, std::int32_t a, std::int32_t b) {
  DynamicSurface& s = editor.mesh;
  const std::int32_t c = s.opposite(t, a, b), d = s.opposite(u, a, b);
  editor.sweep(t, s.position(d), d);
  s.remove_triangle(t);
  s.remove_triangle(u);
  const std::int32_t first = s.add_triangle({a, d, c}), second = s.add_triangle({d, b, c});
  for (const std::int32_t fresh : {first, second})
    for (const std::int32_t old : {t, u}) editor.transfers.triangles.push_back({fresh, old, 0.5, 0.5});
  editor.transfers.edge(c, d, a, b, 1, 1);
}

Refusal flip_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b, bool shorten) {
  DynamicSurface& s = editor.mesh;
  const auto pair = flipped_pair(s, a, b);
  if (!pair) return Refusal::topology;
  const auto [t, u] = *pair;
  // t = (a, b, c) and u = (b, a, d).
  const std::int32_t c = s.opposite(t, a, b), d = s.opposite(u, a, b);
  if (c == d || s.count_at_edge(c, d) > 0) return Refusal::topology;
  if (shorten && !shorter(s, a, b, c, d)) return Refusal::shape;
  const auto x = [&](std::int32_t v) -> const Point& { return s.position(v); };
  const Point old_t = s.area_vector(t), old_u = s.area_vector(u);
  const Point new_c = mesh::area_vector(x(a), x(d), x(c)), new_d = mesh::area_vector(x(d), x(b), x(c));
  if (old_t.dot(old_u) > 0)
    for (const Point* fresh : {&new_c, &new_d})
      for (const Point* old : {&old_t, &old_u})
        if (!(fresh->dot(*old) >= 0)) return Refusal::normal;
  const double area = old_t.norm() + old_u.norm();
  if (std::abs(new_c.norm() + new_d.norm() - area) > most_area_change * area) return Refusal::shape;
  const TriangleAngles before_t = angles_of(x(a), x(b), x(c)), before_u = angles_of(x(b), x(a), x(d));
  const TriangleAngles after_c = angles_of(x(a), x(d), x(c)), after_d = angles_of(x(d), x(b), x(c));
  const double least = std::min(after_c.least_sine, after_d.least_sine);
  const double largest = std::min(after_c.largest_cosine, after_d.largest_cosine);
  if (least < std::sin(editor.options().least_angle) && least < std::min(before_t.least_sine, before_u.least_sine))
    return Refusal::shape;
  if (largest < std::cos(editor.options().largest_angle) && largest < std::min(before_t.largest_cosine, before_u.largest_cosine))
    return Refusal::shape;
  const double ridge = editor.options().ridge;
  if (vertex_rank(s, a, ridge) > 1 || vertex_rank(s, b, ridge) > 1) {
    // Along a ridge, in a plane, an edge is as good as any other: only its own triangles tell.
    if (old_t.dot(old_u) < 0.999 * old_t.norm() * old_u.norm()) return Refusal::normal;
  }
  editor.begin();
  edit_flip(editor, t, u, a, b);
  editor.end_part(mesh::EventKind::flip);
  const std::array edge{a, b};
  return editor.commit(mesh::EventKind::flip, edge, editor.most_volume());
}

void flip_edges(SurfaceEditor& editor) {
  const DynamicSurface& s = editor.mesh;
  EdgeList list;
  std::vector<std::int32_t> triangles(s.slots());
  for (std::int32_t t = 0; t < s.slots(); ++t) triangles[t] = t;
  for (int sweep = 0; sweep < editor.options().flip_sweeps && !triangles.empty(); ++sweep) {
    collect_edges(s, triangles, AskAt::ascending_ones, list, [&](std::int32_t a, std::int32_t b) -> double {
      const auto pair = flipped_pair(s, a, b);
      if (!pair) return 0;
      const std::int32_t c = s.opposite((*pair)[0], a, b), d = s.opposite((*pair)[1], a, b);
      if (c == d || !shorter(s, a, b, c, d)) return 0;
      // The greatest gain first.
      return editor.length(c, d) - editor.length(a, b);
    });
    triangles.clear();
    ++editor.counts.flip_sweeps;
    for (const RankedEdge& e : list.edges) {
      check_interrupt();
      if (s.count_at_edge(e.a, e.b) == 0) continue;
      const Refusal end = flip_edge(editor, e.a, e.b, true);
      editor.counts.flip.add(end);
      if (end != Refusal::none) continue;
      // Edges around those of the new triangles may now be worth a flip.
      for (const std::int32_t t : editor.changed())
        for (const std::int32_t v : s.triangle(t)) triangles.insert(triangles.end(), s.star(v).begin(), s.star(v).end());
    }
    std::sort(triangles.begin(), triangles.end());
    triangles.erase(std::unique(triangles.begin(), triangles.end()), triangles.end());
  }
}

}  // namespace meniscus::surface
