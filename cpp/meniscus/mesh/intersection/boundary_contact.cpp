#include "meniscus/mesh/intersection/boundary_contact.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/intersection/intersection.hpp"
#include "meniscus/mesh/search/box_tree.hpp"
#include "meniscus/numerics/predicates.hpp"

#include <atomic>

namespace meniscus::mesh {
namespace {

/// Triangles u, v, a and u, v, b meet beyond the edge u, v only where one lies on the other: in one plane, on one side of the
/// edge.
bool folded_onto(const Point& u, const Point& v, const Point& a, const Point& b) {
  if (numerics::orient3d(u, v, a, b) != 0) return false;
  for (int d = 0; d < 3; ++d) {
    const int x = (d + 1) % 3, y = (d + 2) % 3;
    const int side = numerics::orient2d(u[x], u[y], v[x], v[y], a[x], a[y]);
    if (side != 0) return side == numerics::orient2d(u[x], u[y], v[x], v[y], b[x], b[y]);
  }
  return true;  // a lies on the line of the edge
}

/// The corners of a triangle, turned so that corner k comes first.
Triangle turned(const Triangle& t, std::size_t k) { return {t[k], t[(k + 1) % 3], t[(k + 2) % 3]}; }

}  // namespace

bool meet_beyond_shared(std::span<const Point> vertices, const Triangle& s, const Triangle& t) {
  const auto x = [&](std::int32_t v) -> const Point& { return vertices[v]; };
  std::array<std::size_t, 3> in_s{}, in_t{};
  std::size_t shared = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      if (s[i] == t[k] && shared < 3) {
        in_s[shared] = i;
        in_t[shared++] = k;
      }
  constexpr auto counts = DegenerateContact::counts;
  if (shared == 0) return triangle_meets_triangle(x(s[0]), x(s[1]), x(s[2]), x(t[0]), x(t[1]), x(t[2]), counts);
  if (shared == 1) {
    // What they have in common is convex. If it is more than the corner, it reaches the opposite edge of one of them.
    const Triangle a = turned(s, in_s[0]), b = turned(t, in_t[0]);
    return edge_meets_triangle(x(a[1]), x(a[2]), x(b[0]), x(b[1]), x(b[2]), counts) ||
           edge_meets_triangle(x(b[1]), x(b[2]), x(a[0]), x(a[1]), x(a[2]), counts);
  }
  if (shared == 2) return folded_onto(x(s[in_s[0]]), x(s[in_s[1]]), x(s[3 - in_s[0] - in_s[1]]), x(t[3 - in_t[0] - in_t[1]]));
  return true;
}

namespace {

/// The number of pairs of triangles that meet; if one is enough, just whether there are any.
Index pairs_that_meet(const TriangleMeshView& surface, bool one_is_enough) {
  std::vector<Box> boxes(surface.triangles.size());
  constexpr Index chunk = 256;
  parallel_for(0, surface.size(), chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t)
      for (int k = 0; k < 3; ++k) boxes[t].add(surface.corner(t, k));
  });
  const BoxTree tree(boxes);
  std::atomic<Index> found{0};
  parallel_for(0, tree.leaves(), chunk / lanes, [&](Index begin, Index end) {
    Index here = 0;
    const auto enough = [&] { return one_is_enough && here + found.load(std::memory_order_relaxed) > 0; };
    for (Index leaf = begin; leaf < end && !enough(); ++leaf)
      tree.any_pair(leaf, [&](Index first, Index second) {
        here +=
            meet_beyond_shared(surface.vertices, surface.triangle(tree.element(first)), surface.triangle(tree.element(second)));
        return one_is_enough && here > 0;
      });
    found.fetch_add(here, std::memory_order_relaxed);
  });
  return found.load();
}

}  // namespace

bool any_meet_beyond_shared(const TriangleMeshView& surface) { return pairs_that_meet(surface, true) > 0; }

Index meetings_beyond_shared(const TriangleMeshView& surface) { return pairs_that_meet(surface, false); }

}  // namespace meniscus::mesh
