#include "meniscus/mesh/repair/surface_repair.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/intersection/boundary_contact.hpp"
#include "meniscus/mesh/repair/coincident.hpp"
#include "meniscus/mesh/repair/hole_filling.hpp"
#include "meniscus/mesh/repair/orientation.hpp"
#include "meniscus/mesh/topology/surface_edges.hpp"

#include <algorithm>

namespace meniscus::mesh {
namespace {

/// A hole is closed if its area is at most this part of that of the surface around it; that of a plane sheet is as large.
constexpr double largest_hole = 0.75;
/// Rounds in which triangles without area are taken out; each halves a chain of them at least.
constexpr int sliver_rounds = 32;

bool repeats_corner(const Triangle& t) { return t[0] == t[1] || t[1] == t[2] || t[2] == t[0]; }

double twice_area(std::span<const Point> x, const Triangle& t) { return area_vector(x[t[0]], x[t[1]], x[t[2]]).norm(); }

/// Gives triangles the sides that they should have; returns how many were turned.
Index apply(const SurfaceOrientation& orientation, bool orient, std::vector<Triangle>& triangles) {
  Index turned = 0;
  std::size_t kept = 0;
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    const signed char side = orientation.sides()[t];
    if (side == 0) continue;
    triangles[kept] = triangles[t];
    if (orient && side < 0) {
      std::swap(triangles[kept][1], triangles[kept][2]);
      ++turned;
    }
    ++kept;
  }
  triangles.resize(kept);
  return turned;
}

/// Cuts a loop where it comes back to a vertex, as where two holes touch: appends loops that pass each vertex once.
void cut_loop(std::span<const std::int32_t> loop, std::vector<std::vector<std::int32_t>>& simple) {
  std::vector<std::int32_t> rest;
  for (const std::int32_t v : loop) {
    const auto again = std::find(rest.begin(), rest.end(), v);
    if (again != rest.end()) {
      simple.emplace_back(again, rest.end());
      rest.erase(again, rest.end());
    }
    rest.push_back(v);
  }
  simple.push_back(std::move(rest));
}

/// Closes the holes that are small beside what is around them.
void fill_holes(SurfaceRepair& r) {
  const TriangleMeshView mesh{r.vertices, r.triangles};
  const WatertightReport report = check_watertight(mesh, TriangleTopology(r.triangles));
  if (report.holes.empty()) return;
  std::vector<double> around(report.components, 0.0);
  std::vector<std::int32_t> component_of(r.vertices.size(), -1);
  for (std::size_t t = 0; t < r.triangles.size(); ++t) {
    around[report.component[t]] += twice_area(r.vertices, r.triangles[t]);
    for (const std::int32_t v : r.triangles[t]) component_of[v] = report.component[t];
  }
  const TriangleTopology topology(r.triangles);
  const auto edges = boundary_segments(r.triangles, topology);
  std::vector<std::array<std::int32_t, 2>> sorted(edges.begin(), edges.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::vector<std::int32_t>> loops;
  for (const auto& loop : report.holes) cut_loop(loop, loops);
  for (std::vector<std::int32_t>& loop : loops) {
    // Against the direction of the triangles around; a chain that other triangles cut is no loop.
    std::reverse(loop.begin(), loop.end());
    bool closed = loop.size() >= 3;
    for (std::size_t i = 0; i < loop.size() && closed; ++i)
      closed = std::binary_search(sorted.begin(), sorted.end(), std::array{loop[(i + 1) % loop.size()], loop[i]});
    if (!closed) continue;
    const std::vector<Triangle> lid = triangulated_loop(r.vertices, loop);
    double area = 0;
    for (const Triangle& t : lid) area += twice_area(r.vertices, t);
    if (!(area <= largest_hole * around[component_of[loop[0]]])) continue;
    r.triangles.insert(r.triangles.end(), lid.begin(), lid.end());
    ++r.filled;
    r.added += static_cast<Index>(lid.size());
  }
}

/// Takes out triangles without area: what lies beyond the longest edge of one gets its third corner, and thereby two triangles.
Index take_out_slivers(std::span<const Point> x, std::vector<Triangle>& triangles) {
  Index count = 0;
  for (int round = 0; round < sliver_rounds; ++round) {
    const TriangleTopology topology(triangles);
    std::vector<char> touched(triangles.size(), 0);
    Index done = 0;
    for (std::size_t s = 0; s < triangles.size(); ++s) {
      const Triangle t = triangles[s];
      if (touched[s] || repeats_corner(t) || !has_no_area(x[t[0]], x[t[1]], x[t[2]])) continue;
      std::size_t k = 0;
      for (std::size_t i = 1; i < 3; ++i)
        if ((x[t[i]] - x[t[(i + 1) % 3]]).squaredNorm() > (x[t[k]] - x[t[(k + 1) % 3]]).squaredNorm()) k = i;
      const std::int32_t a = t[k], c = t[(k + 1) % 3], b = t[(k + 2) % 3];
      const auto at = topology.triangles_at(topology.edges_of(static_cast<Index>(s))[k]);
      if (at.size() != 2) continue;
      const std::int32_t u = at[0] == static_cast<std::int32_t>(s) ? at[1] : at[0];
      if (touched[u]) continue;
      const Triangle beyond = triangles[u];
      touched[s] = touched[u] = 1;
      ++done;
      if (std::find(beyond.begin(), beyond.end(), b) != beyond.end()) {
        triangles[s] = triangles[u] = {a, a, a};  // the two lie on each other
        continue;
      }
      triangles[s] = triangles[u] = beyond;
      std::replace(triangles[s].begin(), triangles[s].end(), a, b);
      std::replace(triangles[u].begin(), triangles[u].end(), c, b);
    }
    if (done == 0) break;
    count += done;
  }
  std::erase_if(triangles, [](const Triangle& t) { return repeats_corner(t); });
  return count;
}

/// Leaves out vertices without triangles.
void drop_unused(SurfaceRepair& r) {
  std::vector<std::int32_t> number(r.vertices.size(), -1);
  for (const Triangle& t : r.triangles)
    for (const std::int32_t v : t) number[v] = 0;
  std::vector<Point> kept;
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    number[v] = static_cast<std::int32_t>(kept.size());
    kept.push_back(r.vertices[v]);
    r.source.push_back(static_cast<std::int32_t>(v));
  }
  r.vertices = std::move(kept);
  for (Triangle& t : r.triangles)
    for (std::int32_t& v : t) v = number[v];
}

}  // namespace

SurfaceRepair repaired_surface(const TriangleMeshView& mesh, const SurfaceRepairOptions& options) {
  require_valid(mesh);
  require_measurable(mesh.vertices, "vertices");
  require(options.weld >= 0, "weld must not be negative, but is ", options.weld);
  SurfaceRepair r;
  r.vertices.assign(mesh.vertices.begin(), mesh.vertices.end());
  const std::vector<std::int32_t> first = coincident_positions(mesh.vertices, options.weld);
  std::vector<char> used(first.size(), 0);
  for (const Triangle& t : mesh.triangles) {
    for (const std::int32_t v : t) used[v] = 1;
    r.triangles.push_back({first[t[0]], first[t[1]], first[t[2]]});
  }
  for (std::size_t v = 0; v < first.size(); ++v) r.welded += used[v] && first[v] != static_cast<std::int32_t>(v);
  r.degenerate = static_cast<Index>(std::erase_if(r.triangles, [](const Triangle& t) { return repeats_corner(t); }));
  const bool flat = std::all_of(r.triangles.begin(), r.triangles.end(), [&](const Triangle& t) {
    return has_no_area(r.vertices[t[0]], r.vertices[t[1]], r.vertices[t[2]]);
  });
  require(!flat, "no triangle of the surface has an area");
  const auto orient = [&] {
    const SurfaceOrientation orientation({r.vertices, r.triangles});
    r.doubled += orientation.doubled();
    r.one_sided = orientation.one_sided_edges();
    return apply(orientation, options.orient, r.triangles);
  };
  r.turned = orient();
  if (options.fill) fill_holes(r);
  r.degenerate += take_out_slivers(r.vertices, r.triangles);
  // Closed, some patches are one, and those that were sheets have a volume.
  r.turned += orient();
  drop_unused(r);
  r.crossings = meetings_beyond_shared({r.vertices, r.triangles});
  return r;
}

}  // namespace meniscus::mesh
