#include "meniscus/surface/meshing/bcc_meshing.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/refinement/red_green.hpp"
#include "meniscus/mesh/topology/manifold_boundary.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"
#include "meniscus/surface/meshing/lattice_clipping.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

/// Circumradius of a BCC tetrahedron relative to its longest edge: no point in it is farther from a corner.
constexpr double reach = 0.5590169943749475;

/// The level set within a box: outside of it, the distance to the box where that is larger.
LevelSetFunction within(const LevelSetFunction& phi, const Bounds<3>& box) {
  return [&phi, box](std::span<const mesh::Point> points, std::span<double> values) {
    std::vector<mesh::Point> inside(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) inside[i] = points[i].cwiseMax(box.lower).cwiseMin(box.upper);
    phi(inside, values);
    for (std::size_t i = 0; i < points.size(); ++i) {
      require(std::isfinite(values[i]), "the level set must be finite, but is ", values[i], " at (", inside[i][0], ", ",
              inside[i][1], ", ", inside[i][2], ")");
      const double beyond = (points[i] - inside[i]).norm();
      if (beyond > 0) values[i] = std::max(values[i] + beyond, beyond);
    }
  };
}

double longest_edge(const mesh::TetMeshData& mesh, const mesh::Tet& t) {
  double longest = 0;
  for (const auto& e : mesh::tet_edges)
    longest = std::max(longest, (mesh.vertices[t[e[0]]] - mesh.vertices[t[e[1]]]).squaredNorm());
  return std::sqrt(longest);
}

double least(const std::vector<double>& values, const mesh::Tet& t) {
  double result = std::numeric_limits<double>::infinity();
  for (const std::int32_t v : t) result = std::min(result, values[v]);
  return result;
}

double largest(const std::vector<double>& values, const mesh::Tet& t) {
  double result = -std::numeric_limits<double>::infinity();
  for (const std::int32_t v : t) result = std::max(result, values[v]);
  return result;
}

/// The coarse lattice where the solid may be, refined towards its surface; `values` are those at its vertices.
mesh::TetMeshData graded_lattice(const LevelSetFunction& phi, const Bounds<3>& box, const BccMeshOptions& options,
                                 std::vector<double>& values) {
  const mesh::BccLattice lattice = mesh::BccLattice::covering(box.lower, box.upper, options.cell);
  std::vector<mesh::Point> nodes(lattice.nodes());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = lattice.position(static_cast<Index>(i));
  std::vector<double> at_nodes(nodes.size());
  phi(nodes, at_nodes);
  std::vector<Index> source;
  mesh::TetMeshData coarse = lattice.mesh(
      [&](const std::array<Index, 4>& t) {
        double lowest = at_nodes[t[0]];
        for (const Index v : t) lowest = std::min(lowest, at_nodes[v]);
        return lowest < reach * options.cell;
      },
      &source);
  values.clear();
  for (const Index node : source) values.push_back(at_nodes[node]);
  if (options.refinements == 0) return coarse;
  mesh::RedGreen hierarchy(std::move(coarse));
  const double fine = options.cell / std::exp2(options.refinements);
  for (;;) {
    std::vector<double> sizes(values.size());
    // Everything within an edge of the surface is refined. Green tetrahedra then stay half an edge of their parent away from it.
    for (std::size_t v = 0; v < values.size(); ++v) sizes[v] = std::max(fine, std::abs(values[v]));
    if (hierarchy.refine(sizes) == 0) break;
    const std::size_t old = values.size();
    values.resize(hierarchy.vertices().size());
    phi(hierarchy.vertices().subspan(old), std::span<double>(values).subspan(old));
  }
  return hierarchy.mesh();
}

/// Selection of lattice tetrahedra for a mesh that is not fitted.
std::vector<bool> kept_tets(const LevelSetFunction& phi, const mesh::TetMeshData& lattice, const std::vector<double>& values,
                            const BccMeshOptions& options) {
  std::vector<bool> kept(lattice.tets.size());
  std::vector<std::size_t> open;
  for (std::size_t t = 0; t < lattice.tets.size(); ++t) {
    const double lowest = least(values, lattice.tets[t]);
    if (options.keep == TetSelection::covering && lowest < 0)
      kept[t] = true;
    else if (lowest < reach * longest_edge(lattice, lattice.tets[t]))
      open.push_back(t);
  }
  // Of what is left, the centres of the tetrahedron, of its edges and of its faces tell.
  const std::size_t probes = options.keep == TetSelection::covering ? 11 : 1;
  std::vector<mesh::Point> points;
  for (const std::size_t t : open) {
    std::array<mesh::Point, 4> x;
    for (std::size_t k = 0; k < 4; ++k) x[k] = lattice.vertices[lattice.tets[t][k]];
    points.push_back(0.25 * (x[0] + x[1] + x[2] + x[3]));
    if (probes == 1) continue;
    for (const auto& e : mesh::tet_edges) points.push_back(0.5 * (x[e[0]] + x[e[1]]));
    for (const auto& f : mesh::tet_faces) points.push_back((x[f[0]] + x[f[1]] + x[f[2]]) / 3);
  }
  std::vector<double> at_points(points.size());
  phi(points, at_points);
  for (std::size_t i = 0; i < open.size(); ++i)
    for (std::size_t k = 0; k < probes; ++k)
      if (at_points[probes * i + k] < 0) kept[open[i]] = true;
  return kept;
}

}  // namespace

void keep_only(mesh::TetMeshData& mesh, const std::vector<bool>& kept) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < mesh.tets.size(); ++t)
    if (kept[t]) mesh.tets[count++] = mesh.tets[t];
  mesh.tets.resize(count);
}

void keep_largest_part(mesh::TetMeshData& mesh) {
  if (mesh.tets.empty()) return;
  std::vector<std::int32_t> part(mesh.tets.size());
  const mesh::TetTopology topology(mesh::VertexStars<4>(mesh.tets, static_cast<Index>(mesh.vertices.size())));
  std::vector<double> volume(mesh::tet_components(topology, part), 0.0);
  for (std::size_t t = 0; t < part.size(); ++t) volume[part[t]] += mesh::signed_volume(mesh.view(), static_cast<Index>(t));
  const auto best = std::max_element(volume.begin(), volume.end()) - volume.begin();
  std::vector<bool> kept(part.size());
  for (std::size_t t = 0; t < part.size(); ++t) kept[t] = part[t] == best;
  keep_only(mesh, kept);
}

mesh::TetMeshData mesh_level_set(const LevelSetFunction& given, const Bounds<3>& box, const BccMeshOptions& options) {
  require(options.refinements >= 0 && options.refinements <= 16, "refinements must be in [0, 16], but is ", options.refinements);
  require(options.depth > 0, "depth must be positive, but is ", options.depth);
  const LevelSetFunction phi = within(given, box);
  std::vector<double> values;
  const mesh::TetMeshData lattice = graded_lattice(phi, box, options, values);
  mesh::TetMeshData result;
  std::vector<bool> kept;
  if (options.fit_surface) {
    result = clip_lattice(phi, lattice, values);
    kept.assign(result.tets.size(), true);
  } else {
    kept = kept_tets(phi, lattice, values, options);
    result = lattice;
  }
  if (std::isfinite(options.depth)) {
    // Crossings, which come after the nodes, lie on the surface.
    values.resize(result.vertices.size(), 0.0);
    for (std::size_t t = 0; t < result.tets.size(); ++t)
      if (largest(values, result.tets[t]) < -options.depth) kept[t] = false;
  }
  mesh::make_boundary_manifold(result.view(), options.fit_surface ? mesh::Repair::shrink : mesh::Repair::grow, kept);
  keep_only(result, kept);
  if (options.largest_part_only) keep_largest_part(result);
  mesh::sort_along_curve(result);
  return result;
}

}  // namespace meniscus::surface
