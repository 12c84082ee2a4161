#include "meniscus/surface/shapes/mesh_distance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/repair/coincident.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::surface {
namespace {

/// Points that a thread takes at a time.
constexpr Index batch = 128;

/// Boxes of the components.
struct Components {
  std::vector<mesh::Box> boxes;

  Components(const mesh::TriangleMeshView& mesh, const mesh::WatertightReport& report) : boxes(report.components) {
    for (Index t = 0; t < mesh.size(); ++t)
      for (int k = 0; report.component[t] >= 0 && k < 3; ++k) boxes[report.component[t]].add(mesh.corner(t, k));
  }

  /// True when no two boxes overlap, so that no component can lie within another or cross it.
  bool apart() const {
    std::vector<std::size_t> order(boxes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return boxes[a].low[0] < boxes[b].low[0]; });
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = i + 1; j < order.size() && boxes[order[j]].low[0] <= boxes[order[i]].high[0]; ++j)
        if (boxes[order[i]].overlaps(boxes[order[j]])) return false;
    return true;
  }
};

/// The corners of triangles, each vertex as the first one of those with its position.
std::vector<mesh::Triangle> joined_corners(std::span<const mesh::Point> vertices, std::span<const mesh::Triangle> triangles) {
  const std::vector<std::int32_t> first = mesh::coincident_positions(vertices, 0);
  std::vector<mesh::Triangle> result(triangles.begin(), triangles.end());
  for (mesh::Triangle& t : result)
    for (std::int32_t& v : t) v = first[v];
  return result;
}

/// True when a part of the surface lies within another, as where a mesh crosses itself: the winding number of a centroid, which
/// is one half on a surface with the outside on one side and the inside on the other, is something else.
bool overlaps_itself(const mesh::TriangleTree& tree, const collision::WindingTree& winding) {
  return parallel_reduce(
      0, tree.size(), batch, false,
      [&](Index begin, Index end) {
        for (Index s = begin; s < end; ++s) {
          const auto& [a, b, c] = tree.corners(s);
          if (mesh::has_no_area(a, b, c)) continue;
          // Round-off puts the centroid on one side of its own triangle, which is left out therefore.
          const double others = winding(tree, (a + b + c) / 3, collision::WindingTree::default_accuracy, s);
          if (std::abs(others - 0.5) > 0.25) return true;
        }
        return false;
      },
      [](bool x, bool y) { return x || y; });
}

}  // namespace

MeshDistance::MeshDistance(std::span<const mesh::Point> vertices, std::span<const mesh::Triangle> triangles) {
  mesh::require_valid({vertices, triangles});
  mesh::require_measurable(vertices, "vertices");
  std::vector<mesh::Triangle> joined = joined_corners(vertices, triangles);
  mesh::SurfaceOrientation orientation({vertices, joined});
  connectivity_ = std::make_shared<const Connectivity>(Connectivity{
      {triangles.begin(), triangles.end()}, mesh::TriangleTopology(triangles), std::move(joined), std::move(orientation)});
  const mesh::TriangleMeshView mesh{vertices, connectivity_->triangles};
  geometry_ = make_geometry({vertices.begin(), vertices.end()}, mesh::TriangleTree(mesh),
                            mesh::check_watertight(mesh, connectivity_->topology));
}

void MeshDistance::update(std::span<const mesh::Point> vertices) {
  require(vertices.size() == geometry_->vertices.size(), "vertices must hold ", geometry_->vertices.size(), " positions, not ",
          vertices.size());
  mesh::require_measurable(vertices, "vertices");
  const mesh::TriangleMeshView mesh{vertices, connectivity_->triangles};
  mesh::TriangleTree tree = geometry_->tree;
  tree.refit(mesh);
  mesh::WatertightReport report = geometry_->report;
  report.degenerate = mesh::degenerate_triangles(mesh);
  geometry_ = make_geometry({vertices.begin(), vertices.end()}, std::move(tree), std::move(report));
}

std::shared_ptr<const MeshDistance::Geometry> MeshDistance::make_geometry(std::vector<mesh::Point> vertices,
                                                                          mesh::TriangleTree tree,
                                                                          mesh::WatertightReport report) const {
  const mesh::TriangleMeshView mesh{vertices, connectivity_->triangles};
  const Components components(mesh, report);
  const bool apart = report.watertight() && components.apart();
  const std::vector<signed char> sides = connectivity_->orientation.sides({vertices, connectivity_->joined});
  PseudoNormals normals(mesh, connectivity_->topology, sides);
  collision::WindingTree winding(tree, sides);
  const bool pseudo_normals_decide = apart && !overlaps_itself(tree, winding);
  return std::make_shared<const Geometry>(Geometry{std::move(vertices), std::move(tree), std::move(report), pseudo_normals_decide,
                                                   std::move(normals), std::move(winding)});
}

double MeshDistance::round_off(const mesh::Point& p) const {
  return 16 * std::numeric_limits<double>::epsilon() * std::max(geometry_->tree.largest_coordinate(), p.cwiseAbs().maxCoeff());
}

bool MeshDistance::inside_by_winding_number(const mesh::Point& p) const {
  // The error of the expansion falls with the cube of the accuracy; what is closer to one half than it can be is asked again.
  const double coarse = geometry_->winding(geometry_->tree, p);
  if (std::abs(coarse - 0.5) > 0.1) return coarse > 0.5;
  const double fine = geometry_->winding(geometry_->tree, p, 4 * collision::WindingTree::default_accuracy);
  if (std::abs(fine - 0.5) > 0.1 / 64) return fine > 0.5;
  return geometry_->winding.exact(geometry_->tree, p) > 0.5;
}

bool MeshDistance::inside(const mesh::Point& p, const collision::MeshPoint& closest) const {
  if (!geometry_->pseudo_normals_decide) return inside_by_winding_number(p);
  const mesh::Point offset = p - closest.position;
  const mesh::Point normal = geometry_->normals.at(closest, mesh().triangle(closest.triangle), connectivity_->topology);
  const double side = normal.dot(offset);
  const double distance = offset.norm();
  const double error = round_off(p);
  // On the surface to within round-off both answers are right.
  if (distance <= error || std::abs(side) > 1e-3 * distance + error) return side <= 0;
  return inside_by_winding_number(p);
}

double MeshDistance::signed_distance(const mesh::Point& p, const collision::MeshPoint& closest) const {
  const double distance = std::sqrt(closest.squared_distance);
  return inside(p, closest) ? -distance : distance;
}

bool MeshDistance::contains(const mesh::Point& p) const {
  return geometry_->pseudo_normals_decide ? inside(p, closest(p)) : inside_by_winding_number(p);
}

bool MeshDistance::separates(const mesh::Point& p, double reach) const {
  const bool first = inside_by_winding_number(p + mesh::Point::Constant(reach / std::sqrt(3.0)));
  // The other corners of a cube, and the middles of its faces, pushed out to the sphere.
  for (int k = 1; k < 14; ++k) {
    mesh::Point way = mesh::Point::Zero();
    if (k < 8)
      for (int d = 0; d < 3; ++d) way[d] = (k >> d & 1) != 0 ? -reach / std::sqrt(3.0) : reach / std::sqrt(3.0);
    else
      way[(k - 8) / 2] = k % 2 == 0 ? reach : -reach;
    if (inside_by_winding_number(p + way) != first) return true;
  }
  return false;
}

double MeshDistance::signed_distance(const mesh::Point& p) const { return signed_distance(p, closest(p)); }

void MeshDistance::contains(std::span<const mesh::Point> points, std::span<bool> out) const {
  parallel_for(0, static_cast<Index>(points.size()), batch, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) out[i] = contains(points[i]);
  });
}

void MeshDistance::signed_distance(std::span<const mesh::Point> points, std::span<double> out) const {
  parallel_for(0, static_cast<Index>(points.size()), batch, [&](Index b, Index e) {
    std::int32_t hint = 0;
    for (Index i = b; i < e; ++i) {
      const collision::MeshPoint m = closest(points[i], hint);
      hint = m.slot;
      out[i] = signed_distance(points[i], m);
    }
  });
}

}  // namespace meniscus::surface
