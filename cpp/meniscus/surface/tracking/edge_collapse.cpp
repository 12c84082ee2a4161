#include "meniscus/surface/tracking/edge_collapse.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/surface/tracking/edge_lists.hpp"
#include "meniscus/surface/tracking/placement/butterfly.hpp"
#include "meniscus/surface/tracking/separation.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;
using mesh::Triangle;

constexpr int most_collapse_passes = 10;
/// Scalar product of unit normals before and after, at least.
constexpr double least_turn = 0.1;
/// The place that keeps the volume is at most so far from the one wanted, as part of the edge.
constexpr double most_shift = 0.5;

/// The place near x at which the triangles around the ends enclose the volume that they do now.
Point keep_volume(const DynamicSurface& s, const Fans& fans, std::int32_t a, std::int32_t b, const Point& x) {
  // Six times the volume to a tip at x: linear in x.
  double missing = 0;
  Point gradient = Point::Zero();
  const auto add = [&](std::int32_t t, std::int32_t v) {
    const auto [p, q] = s.link(t, v);
    const Point from_p = s.position(p) - x, from_q = s.position(q) - x;
    gradient += from_p.cross(from_q);
    missing += (s.position(v) - x).dot(from_p.cross(from_q));
  };
  for (const std::int32_t t : fans.a) add(t, a);
  for (const std::int32_t t : fans.b) add(t, b);
  for (const std::int32_t t : fans.both) {
    const Triangle& c = s.triangle(t);
    missing += (s.position(c[0]) - x).dot((s.position(c[1]) - x).cross(s.position(c[2]) - x));
  }
  const double size = gradient.squaredNorm();
  if (!(size > 0)) return x;
  // A tip at x + d gains d . gradient.
  return x + gradient * (missing / size);
}

/// Whether the triangles around the new vertex at x are as they should be.
Refusal judge(const SurfaceEditor& editor, const Fans& fans, std::int32_t a, std::int32_t b, const Point& x) {
  const DynamicSurface& s = editor.mesh;
  const double least_sine = std::sin(editor.options().least_angle), largest_cosine = std::cos(editor.options().largest_angle);
  double least_before = 1, largest_before = 1, longest_before = 0;
  double least = 1, largest = 1, longest = 0;
  const auto note = [](const TriangleAngles& angles, double& sine, double& cosine) {
    sine = std::min(sine, angles.least_sine);
    cosine = std::min(cosine, angles.largest_cosine);
  };
  for (const std::int32_t v : {a, b})
    for (const std::int32_t t : v == a ? fans.a : fans.b) {
      const auto [p, q] = s.link(t, v);
      const Point old = s.area_vector(t), fresh = mesh::area_vector(x, s.position(p), s.position(q));
      if (!(old.dot(fresh) >= least_turn * old.norm() * fresh.norm()) || !(fresh.norm() > 0)) return Refusal::normal;
      note(angles_of(s.position(v), s.position(p), s.position(q)), least_before, largest_before);
      note(angles_of(x, s.position(p), s.position(q)), least, largest);
      longest_before = std::max({longest_before, (s.position(v) - s.position(p)).norm(), (s.position(v) - s.position(q)).norm()});
      longest = std::max({longest, (x - s.position(p)).norm(), (x - s.position(q)).norm()});
    }
  for (const std::int32_t t : fans.both) {
    const Triangle& c = s.triangle(t);
    note(angles_of(s.position(c[0]), s.position(c[1]), s.position(c[2])), least_before, largest_before);
  }
  if (least < least_sine && least < least_before) return Refusal::shape;
  if (largest < largest_cosine && largest < largest_before) return Refusal::shape;
  if (longest > editor.longest() && longest > longest_before) return Refusal::shape;
  return Refusal::none;
}

/// The places to try, the best one first.
void find_places(SurfaceEditor& editor, const Fans& fans, std::int32_t a, std::int32_t b, std::vector<Point>& out) {
  const DynamicSurface& s = editor.mesh;
  out.clear();
  const Point half = 0.5 * (s.position(a) + s.position(b));
  const auto only = [&](std::int32_t v) { out.push_back(s.position(v)); };
  if (editor.fixed(a)) return only(a);
  if (editor.fixed(b)) return only(b);
  const bool edge_of_a = s.on_boundary(a), edge_of_b = s.on_boundary(b);
  if (edge_of_a != edge_of_b) return only(edge_of_a ? a : b);
  if (edge_of_a) {
    const bool turns_a = boundary_turns(s, a), turns_b = boundary_turns(s, b);
    if (turns_a || turns_b) return only(turns_a ? a : b);
  }
  const double ridge = editor.options().ridge, length = editor.length(a, b);
  const int rank_a = vertex_rank(s, a, ridge), rank_b = vertex_rank(s, b, ridge);
  const auto add_kept = [&](const Point& x) {
    if (!editor.options().keep_volume || edge_of_a) return;
    const Point kept = keep_volume(s, fans, a, b, x);
    if (kept != x && (kept - x).norm() < most_shift * length) out.push_back(kept);
  };
  // Ridges and corners stay where they are, but where planes do not meet at them they give way if the volume asks for it.
  const auto stay = [&](std::initializer_list<std::int32_t> ends) {
    for (const std::int32_t v : ends) only(v);
    for (const std::int32_t v : ends)
      if (!on_crease(s, v)) add_kept(s.position(v));
  };
  if (rank_a != rank_b && !edge_of_a) return stay({rank_a > rank_b ? a : b});
  if (rank_a == 3 && rank_b == 3) return stay({a, b});
  const Point smooth = editor.options().butterfly ? butterfly_point(s, a, b) : half;
  const auto add = [&](const Point& x) {
    add_kept(x);
    out.push_back(x);
  };
  if ((smooth - half).norm() < most_shift * length) add(smooth);
  add(half);
}

}  // namespace

void find_fans(const DynamicSurface& s, std::int32_t a, std::int32_t b, Fans& out) {
  out.a.clear();
  out.b.clear();
  out.both.clear();
  for (const std::int32_t t : s.star(a)) {
    const Triangle& c = s.triangle(t);
    (std::find(c.begin(), c.end(), b) == c.end() ? out.a : out.both).push_back(t);
  }
  for (const std::int32_t t : s.star(b)) {
    const Triangle& c = s.triangle(t);
    if (std::find(c.begin(), c.end(), a) == c.end()) out.b.push_back(t);
  }
  for (auto* list : {&out.a, &out.b, &out.both}) std::sort(list->begin(), list->end());
}

bool link_holds(const DynamicSurface& s, const Fans& fans, std::int32_t a, std::int32_t b) {
  std::vector<std::int32_t> of_a, of_b, common;
  s.neighbours(a, of_a);
  s.neighbours(b, of_b);
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
  if (common.size() != fans.both.size()) return false;
  // An edge between two boundaries is not one of the boundary itself.
  return !(s.on_boundary(a) && s.on_boundary(b) && fans.both.size() == 2);
}

void edit_collapse(SurfaceEditor& editor, const Fans& fans, std::int32_t a, std::int32_t b, const Point& x) {
  DynamicSurface& s = editor.mesh;
  // First one end moves to the new place, then the other.
  for (const std::int32_t t : s.star(a)) editor.sweep(t, x, b);
  const Point edge = s.position(b) - s.position(a);
  const double part = std::clamp((x - s.position(a)).dot(edge) / edge.squaredNorm(), 0.0, 1.0);
  s.move(a, x);
  for (const std::int32_t t : fans.b) editor.sweep(t, x, a);
  editor.transfers.vertices.push_back({a, a, 1 - part, 1});
  editor.transfers.vertices.push_back({a, b, part, 1});
  const auto opposite_edges = [&](std::int32_t w, double& share) {
    editor.transfers.edge(a, w, a, w, 0.5, 1);
    editor.transfers.edge(a, w, b, w, 0.5, 1);
    editor.transfers.edge(a, w, a, b, 0, share);
  };
  double share = 1.0 / static_cast<double>(fans.both.size());
  std::vector<std::int32_t> others;
  s.neighbours(b, others);
  for (const std::int32_t w : others) {
    if (w == a) continue;
    const bool opposite =
        std::any_of(fans.both.begin(), fans.both.end(), [&](std::int32_t t) { return s.opposite(t, a, b) == w; });
    if (opposite) continue;
    const bool joined = s.count_at_edge(a, w) > 0;
    if (joined) editor.transfers.edge(a, w, a, w, 0.5, 1);
    editor.transfers.edge(a, w, b, w, joined ? 0.5 : 1, 1);
  }
  for (const std::int32_t t : fans.both) opposite_edges(s.opposite(t, a, b), share);
  for (const std::int32_t t : fans.both) s.remove_triangle(t);
  for (const std::int32_t t : fans.b) {
    Triangle c = s.triangle(t);
    std::replace(c.begin(), c.end(), b, a);
    editor.replace(t, c);
  }
  for (const std::int32_t t : fans.both) {
    std::int32_t heir = -1;
    s.for_each_at_edge(a, s.opposite(t, a, b), [&](std::int32_t u) { heir = std::max(heir, u); });
    if (heir >= 0) editor.transfers.leave_triangle(t, heir);
  }
}

Refusal collapse_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b) {
  DynamicSurface& s = editor.mesh;
  thread_local Fans fans;
  thread_local std::vector<Point> places;
  find_fans(s, a, b, fans);
  if (fans.both.empty() || fans.both.size() > 2 || (editor.fixed(a) && editor.fixed(b))) return Refusal::topology;
  const bool regular = link_holds(s, fans, a, b);
  if (!regular && !editor.options().topology) return Refusal::topology;
  // The kept vertex must be the one that is fixed.
  if (editor.fixed(b)) std::swap(a, b), std::swap(fans.a, fans.b);
  find_places(editor, fans, a, b, places);
  Refusal end = Refusal::shape;
  const std::array edge{a, b};
  for (const Point& x : places) {
    end = judge(editor, fans, a, b, x);
    // Where the surface parts, bad shapes may come with it.
    if (end != Refusal::none && (regular || end == Refusal::normal)) continue;
    editor.begin();
    const TrackingCounts counts = editor.counts;
    edit_collapse(editor, fans, a, b, x);
    if (!separate_sheets(editor, mesh::EventKind::collapse)) {
      end = editor.refuse(Refusal::topology);
      continue;
    }
    end = editor.commit(mesh::EventKind::collapse, edge, editor.most_volume());
    if (end == Refusal::none) return end;
    editor.counts = counts;
    if (end == Refusal::veto) return end;
  }
  return end;
}

void collapse_edges(SurfaceEditor& editor) {
  const DynamicSurface& s = editor.mesh;
  EdgeList list;
  std::vector<std::int32_t> triangles(s.slots());
  for (std::int32_t t = 0; t < s.slots(); ++t) triangles[t] = t;
  for (int pass = 0; pass < most_collapse_passes; ++pass) {
    collect_edges(s, triangles, AskAt::every_triangle, list, [&](std::int32_t a, std::int32_t b) -> double {
      if (editor.options().frozen_boundary && (s.on_boundary(a) || s.on_boundary(b))) return 0;
      const double length = editor.length(a, b);
      return length < editor.shortest() && length < editor.shortest() * editor.scale(a, b) ? length - editor.longest() : 0;
    });
    triangles.clear();
    for (const RankedEdge& e : list.edges) {
      check_interrupt();
      if (s.count_at_edge(e.a, e.b) == 0 || editor.length(e.a, e.b) >= editor.shortest()) continue;
      const Refusal end = collapse_edge(editor, e.a, e.b);
      editor.counts.collapse.add(end);
      if (end == Refusal::none) triangles.insert(triangles.end(), editor.changed().begin(), editor.changed().end());
    }
    if (triangles.empty()) return;
  }
}

void remove_residues(SurfaceEditor& editor) {
  constexpr double little = 0.005;
  if (!editor.options().topology) return;
  DynamicSurface& s = editor.mesh;
  const double length = editor.options().edge_length, most = std::min(editor.most_volume(), little * length * length * length);
  SmallPart part;
  for (std::int32_t first = 0; first < s.slots(); ++first) {
    // The lowest triangle of a part looks for the others.
    if (!s.alive(first) || !find_small_part(s, first, first, part) || !part.closed || std::abs(part.volume) > most) continue;
    const bool held = std::any_of(part.triangles.begin(), part.triangles.end(), [&](std::int32_t t) {
      const Triangle& c = s.triangle(t);
      return editor.fixed(c[0]) || editor.fixed(c[1]) || editor.fixed(c[2]);
    });
    if (held) continue;
    editor.begin();
    for (const std::int32_t t : part.triangles) s.remove_triangle(t);
    editor.end_part(mesh::EventKind::collapse);
    const std::array vertices{s.triangle(first)[0], s.triangle(first)[1]};
    if (editor.commit(mesh::EventKind::collapse, vertices, most) == Refusal::none) ++editor.counts.residues;
  }
}

}  // namespace meniscus::surface
