#include "meniscus/mesh/intersection/embedded_mesh.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/intersection/boundary_contact.hpp"
#include "meniscus/mesh/search/box_tree.hpp"
#include "meniscus/mesh/topology/surface_edges.hpp"
#include "meniscus/numerics/predicates.hpp"

#include <atomic>

namespace meniscus::mesh {
namespace {

constexpr Index tested_chunk = 1024;

bool all_positive(const TetMeshView& mesh) {
  std::atomic<bool> positive{true};
  parallel_for(0, mesh.size(), tested_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end && positive.load(std::memory_order_relaxed); ++t)
      if (numerics::orient3d(mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2), mesh.corner(t, 3)) <= 0)
        positive.store(false, std::memory_order_relaxed);
  });
  return positive.load();
}

/// A boundary triangle a, b, c and its tetrahedron, for the points right behind it: a + e (b - a) + e^2 (c - a) - e^3 n for all
/// small e > 0, where n is the normal.
struct Probe {
  Point a, b, c;
  std::int32_t tet;

  /// +1 where these points are in front of a triangle, -1 behind. They are never in its plane.
  int side(const Point& u, const Point& v, const Point& w) const {
    for (const Point* p : {&a, &b, &c})
      if (const int s = numerics::orient3d(u, v, w, *p); s != 0) return s;
    for (int d = 0; d < 3; ++d) {
      const int x = (d + 1) % 3, y = (d + 2) % 3;
      const int own = numerics::orient2d(a[x], a[y], b[x], b[y], c[x], c[y]);
      if (own != 0) return -own * numerics::orient2d(u[x], u[y], v[x], v[y], w[x], w[y]);
    }
    return 0;
  }
};

/// One triangle of each sheet.
std::vector<Probe> probes_of(const TetMeshView& mesh, const TetTopology& topology, std::span<const Triangle> boundary) {
  std::vector<Triangle> beyond(boundary.size());
  find_triangle_neighbours(boundary, TriangleTopology(boundary), beyond);
  std::vector<bool> seen(boundary.size(), false);
  std::vector<std::int32_t> open;
  std::vector<Probe> probes;
  for (std::size_t first = 0; first < boundary.size(); ++first) {
    if (seen[first]) continue;
    seen[first] = true;
    open.assign(1, static_cast<std::int32_t>(first));
    while (!open.empty()) {
      const Triangle next = beyond[open.back()];
      open.pop_back();
      for (const std::int32_t t : next) {
        if (t < 0 || seen[t]) continue;
        seen[t] = true;
        open.push_back(t);
      }
    }
    const Triangle& f = boundary[first];
    probes.push_back(
        {mesh.vertices[f[0]], mesh.vertices[f[1]], mesh.vertices[f[2]], topology.face_tets()[topology.boundary()[first]][0]});
  }
  return probes;
}

/// Whether a tetrahedron other than its own holds the points of any probe.
bool any_probe_covered(const TetMeshView& mesh, std::span<const Probe> probes) {
  std::vector<Box> boxes(probes.size());
  for (std::size_t i = 0; i < probes.size(); ++i) boxes[i].add(probes[i].a);
  const BoxTree tree(boxes);
  std::atomic<bool> covered{false};
  const auto holds = [&](Index t, const Probe& probe) {
    for (const auto& f : tet_faces)
      if (probe.side(mesh.corner(t, static_cast<int>(f[0])), mesh.corner(t, static_cast<int>(f[1])),
                     mesh.corner(t, static_cast<int>(f[2]))) > 0)
        return false;
    return true;
  };
  parallel_for(0, mesh.size(), tested_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end && !covered.load(std::memory_order_relaxed); ++t) {
      Box box;
      for (int k = 0; k < 4; ++k) box.add(mesh.corner(t, k));
      const bool found = tree.any_overlap(box, [&](Index slot) {
        const Probe& probe = probes[tree.element(slot)];
        return probe.tet != t && holds(t, probe);
      });
      if (found) covered.store(true, std::memory_order_relaxed);
    }
  });
  return covered.load();
}

}  // namespace

bool is_embedded(const TetMeshView& mesh, const TetTopology& topology) {
  if (!all_positive(mesh) || !topology.flipped_faces(mesh.tets).empty()) return false;
  std::vector<Triangle> boundary;
  for (const std::int32_t f : topology.boundary()) boundary.push_back(topology.faces()[f]);
  return !any_meet_beyond_shared({mesh.vertices, boundary}) && !any_probe_covered(mesh, probes_of(mesh, topology, boundary));
}

}  // namespace meniscus::mesh
