#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

#include "meniscus/mesh/topology/triangle_topology.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace meniscus::mesh {

SurfaceDefects find_defects(std::span<const Triangle> triangles) {
  SurfaceDefects found;
  const TriangleTopology topology(triangles);
  const auto edges = topology.edges();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto at = topology.triangles_at(static_cast<Index>(e));
    if (at.size() == 1) {
      ++found.boundary_edges;
      continue;
    }
    if (at.size() % 2 != 0) ++found.odd_edges;
    if (at.size() % 2 == 0 && at.size() > 2) ++found.crowded_edges;
    std::ptrdiff_t forwards = 0;
    for (const std::int32_t t : at) {
      const Triangle& c = triangles[t];
      const auto [a, b] = edges[e];
      if ((c[0] == a && c[1] == b) || (c[1] == a && c[2] == b) || (c[2] == a && c[0] == b)) ++forwards;
    }
    if (2 * forwards != std::ssize(at)) ++found.unpaired_edges;
  }
  std::vector<Triangle> sorted;
  for (Triangle c : triangles) {
    std::sort(c.begin(), c.end());
    if (c[0] == c[1] || c[1] == c[2])
      ++found.repeated_corners;
    else
      sorted.push_back(c);
  }
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) found.repeated_triangles += static_cast<Index>(sorted[i] == sorted[i - 1]);
  return found;
}

void DynamicSurface::assign(const TriangleMeshView& mesh) {
  positions_.assign(mesh.vertices.begin(), mesh.vertices.end());
  triangles_.assign(mesh.triangles.begin(), mesh.triangles.end());
  alive_.assign(triangles_.size(), 1);
  journal_.clear();
  std::vector<std::int32_t> degree(positions_.size(), 0);
  for (const Triangle& c : triangles_)
    for (const std::int32_t v : c) ++degree[v];
  stars_.reset(static_cast<Index>(positions_.size()), [&](Index v) { return degree[v] + 3; });
  for (std::int32_t t = 0; t < slots(); ++t) link_triangle(t);
}

void DynamicSurface::link_triangle(std::int32_t t) {
  for (const std::int32_t v : triangles_[t]) stars_.add(v, t);
}

void DynamicSurface::unlink_triangle(std::int32_t t) {
  for (const std::int32_t v : triangles_[t]) stars_.remove(v, t);
}

bool DynamicSurface::on_boundary(std::int32_t v) const {
  for (const std::int32_t t : star(v))
    for (const std::int32_t w : link(t, v))
      if (count_at_edge(v, w) == 1) return true;
  return false;
}

std::optional<std::array<std::int32_t, 2>> DynamicSurface::pair_at(std::int32_t a, std::int32_t b) const {
  std::array<std::int32_t, 2> found{-1, -1};
  int n = 0;
  for_each_at_edge(a, b, [&](std::int32_t t) {
    ++n;
    found[traverses(t, a, b) ? 0 : 1] = t;
  });
  if (n != 2 || found[0] < 0 || found[1] < 0) return std::nullopt;
  return found;
}

void DynamicSurface::neighbours(std::int32_t v, std::vector<std::int32_t>& out) const {
  out.clear();
  for (const std::int32_t t : star(v))
    for (const std::int32_t w : link(t, v)) out.push_back(w);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

bool DynamicSurface::ring(std::int32_t v, std::int32_t first, std::vector<std::int32_t>& out) const {
  out.clear();
  const auto triangles = star(v);
  std::int32_t at = first;
  do {
    std::int32_t next = -1;
    for (const std::int32_t t : triangles) {
      const auto [a, b] = link(t, v);
      if (a != at) continue;
      if (next >= 0) return false;
      next = b;
    }
    if (next < 0 || out.size() == triangles.size()) return false;
    out.push_back(at);
    at = next;
  } while (at != first);
  return out.size() == triangles.size();
}

std::int32_t DynamicSurface::partner(std::int32_t t, std::int32_t a, std::int32_t b, bool through_inside) const {
  // Angles around the edge, from the triangle. The inside lies behind its normal: clockwise as seen against the direction in
  // which the triangle traverses the edge.
  const bool forward = traverses(t, a, b);
  const Point& origin = position(forward ? a : b);
  const Point axis = (position(forward ? b : a) - origin).normalized();
  const auto off = [&](std::int32_t s) {
    const Point d = position(opposite(s, a, b)) - origin;
    return Point(d - axis * axis.dot(d));
  };
  const Point x = off(t), y = axis.cross(x);
  std::int32_t best = -1;
  double least = std::numeric_limits<double>::infinity();
  for_each_at_edge(a, b, [&](std::int32_t s) {
    if (s == t || traverses(s, a, b) == forward) return;
    const Point d = off(s);
    double angle = std::atan2(d.dot(y), d.dot(x));
    if (through_inside) angle = -angle;
    if (angle < 0) angle += 2 * std::numbers::pi;
    if (angle < least || (angle == least && s < best)) {
      least = angle;
      best = s;
    }
  });
  return best;
}

std::int32_t DynamicSurface::add_vertex(const Point& x) {
  const std::int32_t v = vertices();
  positions_.push_back(x);
  stars_.add_list();
  journal_.add(Change::new_vertex, v, Point::Zero());
  return v;
}

void DynamicSurface::move(std::int32_t v, const Point& x) {
  journal_.add(Change::moved, v, positions_[v]);
  positions_[v] = x;
}

std::int32_t DynamicSurface::add_triangle(const Triangle& corners) {
  const std::int32_t t = slots();
  triangles_.push_back(corners);
  alive_.push_back(1);
  link_triangle(t);
  journal_.add(Change::new_element, t, Point::Zero());
  return t;
}

void DynamicSurface::remove_triangle(std::int32_t t) {
  unlink_triangle(t);
  alive_[t] = 0;
  journal_.add(Change::removed_element, t, Point::Zero());
}

void DynamicSurface::undo(std::size_t mark) {
  journal_.undo(mark, [&](const EditJournal<Point>::Entry& e) {
    switch (e.change) {
      case Change::moved:
        positions_[e.which] = e.before;
        break;
      case Change::new_vertex:
        positions_.pop_back();
        stars_.remove_last_list();
        break;
      case Change::removed_element:
        alive_[e.which] = 1;
        link_triangle(e.which);
        break;
      case Change::new_element:
        if (alive_[e.which] != 0) unlink_triangle(e.which);
        triangles_.pop_back();
        alive_.pop_back();
        break;
    }
  });
}

void DynamicSurface::changed(std::size_t mark, std::vector<std::int32_t>& out) const {
  out.clear();
  for (std::size_t i = mark; i < journal_.size(); ++i) {
    const auto& e = journal_[i];
    if (e.change == Change::new_element && alive(e.which)) out.push_back(e.which);
    if (e.change == Change::moved) out.insert(out.end(), star(e.which).begin(), star(e.which).end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

Index DynamicSurface::nbytes() const {
  return static_cast<Index>(positions_.capacity() * sizeof(Point) + triangles_.capacity() * sizeof(Triangle) +
                            alive_.capacity()) +
         stars_.nbytes();
}

}  // namespace meniscus::mesh
