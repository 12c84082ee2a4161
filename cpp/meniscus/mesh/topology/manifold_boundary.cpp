#include "meniscus/mesh/topology/manifold_boundary.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/mesh/topology/surface_edges.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"

namespace meniscus::mesh {
namespace {

/// A vertex or an edge (otherwise the second is -1) at which the boundary is no manifold.
using Fault = std::array<std::int32_t, 2>;

std::vector<Fault> faults_of(const TetMeshView& mesh, const std::vector<bool>& kept) {
  std::vector<Tet> tets;
  for (Index t = 0; t < mesh.size(); ++t)
    if (kept[t]) tets.push_back(mesh.tet(t));
  const auto vertices = static_cast<Index>(mesh.vertices.size());
  const TetTopology topology(VertexStars<4>(tets, vertices));
  std::vector<Triangle> boundary;
  for (const std::int32_t f : topology.boundary()) boundary.push_back(topology.faces()[f]);
  const TriangleTopology surface(boundary);
  std::vector<Fault> faults;
  for (std::size_t e = 0; e < surface.edges().size(); ++e)
    if (surface.triangles_at(static_cast<Index>(e)).size() > 2) faults.push_back(surface.edges()[e]);
  for (const std::int32_t v : pinched_vertices(boundary, surface, vertices)) faults.push_back({v, -1});
  return faults;
}

bool has(const Tet& t, std::int32_t v) { return t[0] == v || t[1] == v || t[2] == v || t[3] == v; }

bool share_a_face(const Tet& a, const Tet& b) {
  int common = 0;
  for (const std::int32_t v : a) common += has(b, v);
  return common == 3;
}

/// Leaves the largest part of the kept tetrahedra around a fault. If there is only one part, leaves nothing of it where `whole`
/// says so: the boundary at such a vertex has several loops.
Index shrink_at(const TetMeshView& mesh, const VertexStars<4>& stars, const Fault& fault, bool whole, std::vector<bool>& kept) {
  std::vector<std::int32_t> star;
  for (const std::int32_t corner : stars.at(fault[0])) {
    const std::int32_t t = corner / 4;
    if (kept[t] && (fault[1] < 0 || has(mesh.tet(t), fault[1]))) star.push_back(t);
  }
  std::vector<int> part(star.size(), -1);
  int parts = 0;
  std::vector<int> size;
  for (std::size_t first = 0; first < star.size(); ++first) {
    if (part[first] >= 0) continue;
    std::vector<std::size_t> open{first};
    part[first] = parts;
    size.push_back(0);
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      ++size.back();
      for (std::size_t j = 0; j < star.size(); ++j)
        if (part[j] < 0 && share_a_face(mesh.tet(star[i]), mesh.tet(star[j]))) {
          part[j] = parts;
          open.push_back(j);
        }
    }
    ++parts;
  }
  int largest = -1;
  if (parts > 1) largest = static_cast<int>(std::max_element(size.begin(), size.end()) - size.begin());
  if (parts <= 1 && !whole) return 0;
  Index changed = 0;
  for (std::size_t i = 0; i < star.size(); ++i)
    if (part[i] != largest) {
      kept[star[i]] = false;
      ++changed;
    }
  return changed;
}

Index grow_at(const TetMeshView& mesh, const VertexStars<4>& stars, const Fault& fault, std::vector<bool>& kept) {
  Index changed = 0;
  for (const std::int32_t corner : stars.at(fault[0])) {
    const Index t = corner / 4;
    if (kept[t] || (fault[1] >= 0 && !has(mesh.tets[t], fault[1]))) continue;
    kept[t] = true;
    ++changed;
  }
  return changed;
}

}  // namespace

Index make_boundary_manifold(const TetMeshView& mesh, Repair repair, std::vector<bool>& kept) {
  const VertexStars<4> stars(mesh.tets, static_cast<Index>(mesh.vertices.size()));
  Index changed = 0;
  // Each pass takes or leaves something, so that there is an end.
  for (;;) {
    check_interrupt();
    Index now = 0;
    const std::vector<Fault> faults = faults_of(mesh, kept);
    if (repair == Repair::grow)
      for (const Fault& fault : faults) now += grow_at(mesh, stars, fault, kept);
    if (now == 0) {
      repair = Repair::shrink;
      // Leaving a part at one fault may mend others, which then have one part only.
      for (const Fault& fault : faults) now += shrink_at(mesh, stars, fault, false, kept);
      if (now == 0 && !faults.empty()) now += shrink_at(mesh, stars, faults.front(), true, kept);
    }
    if (now == 0) return changed;
    changed += now;
  }
}

}  // namespace meniscus::mesh
