#include "meniscus/surface/tracking/surface_guard.hpp"

#include "meniscus/mesh/intersection/intersection.hpp"
#include "meniscus/numerics/predicates.hpp"

namespace meniscus::surface {
namespace {

using mesh::Point;
using mesh::Triangle;

constexpr auto closed = mesh::DegenerateContact::counts;

mesh::Box box_around(std::span<const Point> x, const Triangle& c) {
  mesh::Box box;
  for (const std::int32_t v : c) box.add(x[v]);
  return box;
}

bool holds(const SweptTet& t, const Point& p) {
  for (int k = 0; k < 3; ++k)
    if (p[k] < std::min({t.a[k], t.b[k], t.c[k], t.d[k]}) || p[k] > std::max({t.a[k], t.b[k], t.c[k], t.d[k]})) return false;
  return mesh::point_in_tetrahedron(p, t.a, t.b, t.c, t.d) != mesh::Containment::outside;
}

}  // namespace

mesh::Box SurfaceGuard::box_of(std::int32_t t) const { return box_around(surface_->positions(), surface_->triangle(t)); }

void SurfaceGuard::watch(const mesh::DynamicSurface& surface, const Obstacles& obstacles) {
  surface_ = &surface;
  obstacles_ = &obstacles;
  // Together they are larger than all else, so they are not kept.
  std::vector<mesh::Box> boxes(surface.slots());
  Workspace workspace;
  for (std::int32_t t = 0; t < surface.slots(); ++t) boxes[t] = box_of(t);
  grid_.build(boxes, workspace);
  boxes.clear();
  for (const Triangle& c : obstacles.triangles) boxes.push_back(box_around(obstacles.vertices, c));
  if (!boxes.empty()) obstacle_grid_.build(boxes, workspace);
}

bool SurfaceGuard::meet(std::int32_t t, std::int32_t u) const {
  const Triangle &a = surface_->triangle(t), &b = surface_->triangle(u);
  const auto x = [&](std::int32_t v) -> const Point& { return surface_->position(v); };
  const auto in = [](const Triangle& c, std::int32_t v) { return c[0] == v || c[1] == v || c[2] == v; };
  int common = 0;
  std::int32_t shared = -1;
  for (const std::int32_t v : a)
    if (in(b, v)) {
      ++common;
      shared = v;
    }
  if (common == 0) return mesh::triangle_meets_triangle(x(a[0]), x(a[1]), x(a[2]), x(b[0]), x(b[1]), x(b[2]), closed);
  if (common == 1) {
    // What they have in common beyond the vertex ends on the edge opposite of it, of one or the other.
    const auto [p, q] = surface_->link(t, shared);
    const auto [r, s] = surface_->link(u, shared);
    return mesh::edge_meets_triangle(x(p), x(q), x(b[0]), x(b[1]), x(b[2]), closed) ||
           mesh::edge_meets_triangle(x(r), x(s), x(a[0]), x(a[1]), x(a[2]), closed);
  }
  if (common == 3) return true;
  std::int32_t p = -1, q = -1;
  for (const std::int32_t v : a)
    if (!in(b, v)) p = v;
  for (const std::int32_t v : b)
    if (!in(a, v)) q = v;
  // Folded flat onto each other.
  if (numerics::orient3d(x(a[0]), x(a[1]), x(a[2]), x(q)) != 0) return false;
  const auto [e, f] = surface_->link(t, p);
  const Point along = x(f) - x(e);
  return along.cross(x(p) - x(e)).dot(along.cross(x(q) - x(e))) >= 0;
}

bool SurfaceGuard::apart(std::span<const std::int32_t> triangles) {
  for (const std::int32_t t : triangles) {
    bool free = true;
    grid_.for_each_overlap(box_of(t), [&](std::int32_t u) {
      // Those that change themselves are in the grid where they were.
      if (free && surface_->alive(u) && !std::binary_search(triangles.begin(), triangles.end(), u) && meet(t, u)) free = false;
    });
    if (!free) return false;
    for (const std::int32_t u : triangles)
      if (u < t && meet(t, u)) return false;
    if (obstacles_->triangles.empty()) continue;
    const Triangle& c = surface_->triangle(t);
    const auto x = [&](std::size_t k) -> const Point& { return surface_->position(c[k]); };
    obstacle_grid_.for_each_overlap(box_of(t), [&](std::int32_t u) {
      const Triangle& o = obstacles_->triangles[u];
      const auto& y = obstacles_->vertices;
      if (free && mesh::triangle_meets_triangle(x(0), x(1), x(2), y[o[0]], y[o[1]], y[o[2]], closed)) free = false;
    });
    if (!free) return false;
  }
  return true;
}

bool SurfaceGuard::nothing_within(std::span<const SweptTet> tets, std::span<const std::int32_t> changed) {
  mesh::Box all;
  for (const SweptTet& t : tets)
    for (const Point* p : {&t.a, &t.b, &t.c, &t.d}) all.add(*p);
  if (tets.empty()) return true;
  const auto test = [&](const Point& p, std::int32_t v) {
    for (int k = 0; k < 3; ++k)
      if (p[k] < all.low[k] || p[k] > all.high[k]) return false;
    for (const SweptTet& t : tets) {
      if (std::find(t.own.begin(), t.own.end(), v) != t.own.end() || !holds(t, p)) continue;
      // A flat one has nothing within.
      if (numerics::orient3d(t.a, t.b, t.c, t.d) != 0) return true;
    }
    return false;
  };
  own_.clear();
  for (const SweptTet& t : tets) own_.insert(own_.end(), t.own.begin(), t.own.end());
  std::sort(own_.begin(), own_.end());
  own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
  const auto of_patch = [&](std::int32_t v) { return std::binary_search(own_.begin(), own_.end(), v); };
  bool found = false;
  listed_.resize(surface_->vertices(), 0);
  near_.clear();
  grid_.for_each_overlap(all, [&](std::int32_t u) {
    if (found || !surface_->alive(u)) return;
    const Triangle& c = surface_->triangle(u);
    if (std::all_of(c.begin(), c.end(), of_patch) && !std::binary_search(changed.begin(), changed.end(), u))
      found |= test((surface_->position(c[0]) + surface_->position(c[1]) + surface_->position(c[2])) / 3, -1);
    for (const std::int32_t v : c) {
      if (listed_[v] != 0) continue;
      listed_[v] = 1;
      near_.push_back(v);
      found |= test(surface_->position(v), v);
    }
  });
  for (const std::int32_t v : near_) listed_[v] = 0;
  if (found || obstacles_->triangles.empty()) return !found;
  obstacle_grid_.for_each_overlap(all, [&](std::int32_t u) {
    for (const std::int32_t v : obstacles_->triangles[u])
      if (!found) found = test(obstacles_->vertices[v], -1);
  });
  return !found;
}

void SurfaceGuard::follow(std::span<const std::int32_t> gone, std::span<const std::int32_t> changed) {
  for (const std::int32_t t : gone)
    if (grid_.contains(t)) grid_.remove(t);
  for (const std::int32_t t : changed) {
    if (grid_.contains(t)) grid_.remove(t);
    grid_.insert(t, box_of(t));
  }
}

}  // namespace meniscus::surface
