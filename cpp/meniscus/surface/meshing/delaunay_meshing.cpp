#include "meniscus/surface/meshing/delaunay_meshing.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/quality/element_quality.hpp"
#include "meniscus/mesh/search/box.hpp"
#include "meniscus/mesh/topology/manifold_boundary.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"
#include "meniscus/mesh/triangulation/delaunay.hpp"
#include "meniscus/surface/meshing/bcc_meshing.hpp"
#include "meniscus/surface/meshing/boundary_deviation.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace meniscus::surface {
namespace {

using mesh::Point;

/// In parts of the spacing: least distances of points on the surface, also of those on both sides of a thin part, and of the
/// points inside from it at first, and after they have moved.
constexpr double on_surface = 0.8, least_thickness = 0.15, least_depth = 0.5, least_moved_depth = 0.25;
/// Points whose normals have a smaller product are on two sides of the solid.
constexpr double same_side = 0.5;
/// Lattice nodes nearer than this give a point of the surface: every part of it is nearer to a node of a lattice of half the
/// spacing.
constexpr double band = 0.45;
/// Of the distances of points and nodes, in parts of the spacing: those that differ by rounding errors alone are equal.
constexpr double distance_steps = 0x1p20;
/// Tetrahedra with less of the volume of a neighbour than this may be slivers on the surface; those of thin plates have equal
/// volumes.
constexpr double sliver_volume = 0.3;
/// Radius ratios below this count against a round.
constexpr double good_ratio = 0.5;
constexpr Index most_nodes = 2'000'000'000;

/// Points of a surface at least a distance apart, but for those on two sides of a thin part.
class ThinnedPoints {
 public:
  ThinnedPoints(const MeshDistance& surface, double spacing)
      : surface_(surface), distance_(on_surface * spacing), least_(least_thickness * spacing) {}

  void add(const Point& p, const Point& n) {
    const Coord<3> c = cell_of(p);
    Coord<3> k;
    for (k[0] = c[0] - 1; k[0] <= c[0] + 1; ++k[0])
      for (k[1] = c[1] - 1; k[1] <= c[1] + 1; ++k[1])
        for (k[2] = c[2] - 1; k[2] <= c[2] + 1; ++k[2]) {
          const auto found = cells_.find(k);
          if (found == cells_.end()) continue;
          for (const std::size_t i : found->second) {
            const double apart = (points_[i] - p).squaredNorm();
            if (apart < least_ * least_ || (apart < distance_ * distance_ && !(n.dot(normals_[i]) < same_side))) return;
          }
        }
    cells_[c].push_back(points_.size());
    points_.push_back(p);
    normals_.push_back(n);
  }
  void add(const Point& p) { add(p, normal(p)); }
  /// The normal of the solid at a point of its surface, that between the faces on edges and corners, by differences of distances.
  Point normal(const Point& p) const {
    Point n;
    for (Index k = 0; k < 3; ++k) {
      const Point step = 0.1 * least_ * Point::Unit(k);
      n[k] = surface_.signed_distance(p + step) - surface_.signed_distance(p - step);
    }
    return n.stableNormalized();
  }
  std::vector<Point>& points() { return points_; }

 private:
  struct Hash {
    std::size_t operator()(const Coord<3>& c) const {
      std::uint64_t h = 0;
      for (const Index i : c) h = (h ^ static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15u;
      return h ^ h >> 32;
    }
  };
  Coord<3> cell_of(const Point& p) const {
    Coord<3> c;
    for (std::size_t d = 0; d < 3; ++d) c[d] = static_cast<Index>(std::floor(p[static_cast<Index>(d)] / distance_));
    return c;
  }

  const MeshDistance& surface_;
  double distance_, least_;
  std::vector<Point> points_, normals_;
  std::unordered_map<Coord<3>, std::vector<std::size_t>, Hash> cells_;
};

/// Divides a polyline into equal parts.
void add_divided(const std::vector<Point>& line, double spacing, ThinnedPoints& points) {
  std::vector<double> way{0};
  for (std::size_t i = 1; i < line.size(); ++i) way.push_back(way.back() + (line[i] - line[i - 1]).norm());
  const double parts = std::max(1.0, std::round(way.back() / spacing));
  std::size_t i = 1;
  for (double k = 0; k <= parts; ++k) {
    const double at = k / parts * way.back();
    while (i + 1 < line.size() && way[i] < at) ++i;
    points.add(line[i - 1] + (at - way[i - 1]) / (way[i] - way[i - 1]) * (line[i] - line[i - 1]));
  }
}

/// Points on corners and sharp edges: each curve from its end or, where it is closed, its vertex of the lowest coordinates.
void add_sharp_points(const MeshDistance& surface, const DelaunayMeshOptions& options, const PointFilter& counts,
                      ThinnedPoints& points) {
  if (!surface.report().watertight()) return;
  const FeatureEdges sharp(surface.mesh(), options.sharp_angle, options.spacing, counts);
  for (const Point& p : sharp.corners()) points.add(p);
  const auto x = surface.mesh().vertices;
  const auto edges = sharp.edges();
  const auto before = [&](std::int32_t a, std::int32_t b) {
    return std::lexicographical_compare(x[a].data(), x[a].data() + 3, x[b].data(), x[b].data() + 3);
  };
  std::vector<std::vector<std::int32_t>> edges_of(sharp.curves());
  for (std::size_t e = 0; e < edges.size(); ++e) edges_of[sharp.curve_of()[e]].push_back(static_cast<std::int32_t>(e));
  for (const auto& own : edges_of) {
    std::unordered_map<std::int32_t, std::vector<std::int32_t>> at;  // the edges of the curve at each of its vertices
    for (const std::int32_t e : own)
      for (const std::int32_t v : edges[e]) at[v].push_back(e);
    std::int32_t start = edges[own[0]][0];
    for (const std::int32_t e : own)
      for (const std::int32_t v : edges[e])
        if (at[v].size() < at[start].size() || (at[v].size() == at[start].size() && before(v, start))) start = v;
    const auto other = [&](std::int32_t e, std::int32_t v) { return edges[e][edges[e][0] == v ? 1 : 0]; };
    std::int32_t v = start, e = at[v][0];
    if (at[v].size() > 1 && before(other(at[v][1], v), other(e, v))) e = at[v][1];
    std::vector<Point> line{x[v]};
    for (std::size_t i = 0; i < own.size(); ++i) {
      v = other(e, v);
      line.push_back(x[v]);
      if (at[v].size() < 2) break;
      e = at[v][at[v][0] == e ? 1 : 0];
    }
    add_divided(line, options.spacing, points);
  }
}

/// The points on the surface, and then those inside; their first number is set.
std::vector<Point> scattered(const MeshDistance& surface, const DelaunayMeshOptions& options, const mesh::Box& box,
                             std::size_t& inside) {
  const double h = options.spacing, step = 0.5 * h;
  const PointFilter counts = boundary_filter(surface, h);
  ThinnedPoints result(surface, h);
  add_sharp_points(surface, options, counts, result);
  Coord<3> first, count;
  double nodes = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto k = static_cast<Index>(d);
    const double low = std::floor(box.low[k] / step) - 1, high = std::ceil(box.high[k] / step) + 1;
    nodes *= high - low + 1;
    require(nodes <= most_nodes && std::abs(low) < most_nodes, "a spacing of ", h,
            " m needs too many points for a surface of that size; use a larger one");
    first[d] = static_cast<Index>(low);
    count[d] = static_cast<Index>(high - low) + 1;
  }
  // Layers of the lattice, which is that of the corners and centres of cubes where all coordinates are even or all odd.
  struct Near {
    double distance;
    Point point, normal;
  };
  std::vector<Near> near;
  std::vector<Point> deep, layer(count[1] * count[2]);
  std::vector<collision::MeshPoint> closest(layer.size());
  std::vector<double> phi(layer.size());
  for (Index i = 0; i < count[0]; ++i) {
    for (Index j = 0; j < count[1]; ++j)
      for (Index k = 0; k < count[2]; ++k)
        layer[j * count[2] + k] =
            step * Point(static_cast<double>(first[0] + i), static_cast<double>(first[1] + j), static_cast<double>(first[2] + k));
    surface.closest(layer, closest);
    parallel_for(0, static_cast<Index>(layer.size()), 256, [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) phi[n] = surface.signed_distance(layer[n], closest[n]);
    });
    for (std::size_t n = 0; n < layer.size(); ++n) {
      const Index j = first[1] + static_cast<Index>(n) / count[2], k = first[2] + static_cast<Index>(n) % count[2];
      const bool bcc = (first[0] + i + j) % 2 == 0 && (j + k) % 2 == 0;
      if (bcc && phi[n] < -least_depth * h) deep.push_back(layer[n]);
      if (!(std::abs(phi[n]) < band * h) || (counts && !counts(closest[n].position))) continue;
      const Point way = layer[n] - closest[n].position;
      near.push_back({std::round(distance_steps * std::abs(phi[n]) / h), closest[n].position, phi[n] < 0 ? Point(-way) : way});
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const Near& a, const Near& b) { return a.distance < b.distance; });
  for (const Near& n : near) result.add(n.point, n.distance > 0 ? n.normal.normalized() : result.normal(n.point));
  std::vector<Point>& points = result.points();
  inside = points.size();
  points.insert(points.end(), deep.begin(), deep.end());
  return std::move(points);
}

/// The Delaunay tetrahedra of points whose centre is inside of the surface.
std::vector<mesh::Tet> tets_inside(const MeshDistance& surface, const mesh::Box& box, const std::vector<Point>& points) {
  // The corners of a box around all: points in a plane have tetrahedra, too.
  std::vector<Point> all = points;
  const Point size = Point::Constant((box.high - box.low).norm());
  const std::array<Point, 2> ends{box.low - size, box.high + size};
  for (std::size_t c = 0; c < 8; ++c) all.emplace_back(ends[c & 1].x(), ends[c >> 1 & 1].y(), ends[c >> 2].z());
  std::vector<mesh::Tet> tets = mesh::delaunay(all);
  std::erase_if(
      tets, [&](const mesh::Tet& t) { return std::ranges::any_of(t, [&](std::int32_t i) { return i >= std::ssize(points); }); });
  std::vector<Point> centres;
  for (const mesh::Tet& t : tets) centres.push_back(0.25 * (points[t[0]] + points[t[1]] + points[t[2]] + points[t[3]]));
  std::vector<double> phi(tets.size());
  surface.signed_distance(centres, phi);
  std::size_t kept = 0;
  for (std::size_t t = 0; t < tets.size(); ++t)
    if (phi[t] < 0) tets[kept++] = tets[t];
  tets.resize(kept);
  return tets;
}

/// Marks what is flat and thin at the boundary as not kept, from outside inwards.
void leave_out_slivers(const mesh::TetMeshView& mesh, const std::vector<mesh::ElementQuality>& quality, double least,
                       std::vector<bool>& kept) {
  const mesh::TetTopology topology(mesh::VertexStars<4>(mesh.tets, static_cast<Index>(mesh.vertices.size())));
  const auto outside = [&](std::int32_t t) { return t < 0 || !kept[t]; };
  const auto is_sliver = [&](std::int32_t t) {
    if (outside(t) || quality[t].radius_ratio >= least) return false;
    bool at_boundary = false;
    double largest = 0;
    for (const std::int32_t n : topology.neighbours()[t])
      if (outside(n))
        at_boundary = true;
      else
        largest = std::max(largest, mesh::signed_volume(mesh, n));
    return at_boundary && mesh::signed_volume(mesh, t) < sliver_volume * largest;
  };
  std::vector<std::int32_t> open;
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(mesh.tets.size()); ++t) open.push_back(t);
  while (!open.empty()) {
    const std::int32_t t = open.back();
    open.pop_back();
    if (!is_sliver(t)) continue;
    kept[t] = false;
    for (const std::int32_t n : topology.neighbours()[t])
      if (n >= 0) open.push_back(n);
  }
}

Point circumcentre(const std::array<Point, 4>& x) {
  Eigen::Matrix3d edges;
  Eigen::Vector3d half;
  for (Index k = 0; k < 3; ++k) {
    const Point e = x[k + 1] - x[0];
    edges.row(k) = e.transpose();
    half[k] = 0.5 * e.squaredNorm();
  }
  return x[0] + edges.partialPivLu().solve(half);
}

/// Moves the points from a number on to the mean of circumcentres, of centres where these are outside.
void relax(const MeshDistance& surface, double spacing, std::span<const mesh::Tet> tets, std::size_t first,
           std::vector<Point>& points) {
  std::vector<Point> target(tets.size());
  std::vector<double> phi(tets.size());
  const mesh::TetMeshView view{points, tets};
  const auto corners = [&](Index t) {
    return std::array<Point, 4>{view.corner(t, 0), view.corner(t, 1), view.corner(t, 2), view.corner(t, 3)};
  };
  for (Index t = 0; t < view.size(); ++t) {
    target[t] = circumcentre(corners(t));
    if (!target[t].allFinite())
      target[t] = 0.25 * (view.corner(t, 0) + view.corner(t, 1) + view.corner(t, 2) + view.corner(t, 3));
  }
  surface.signed_distance(target, phi);
  std::vector<Point> sum(points.size(), Point::Zero());
  std::vector<double> weight(points.size(), 0.0);
  for (Index t = 0; t < view.size(); ++t) {
    if (phi[t] > 0) target[t] = 0.25 * (view.corner(t, 0) + view.corner(t, 1) + view.corner(t, 2) + view.corner(t, 3));
    const double volume = mesh::signed_volume(view, t);
    for (const std::int32_t i : view.tet(t)) {
      sum[i] += volume * target[t];
      weight[i] += volume;
    }
  }
  std::vector<Point> moved(points.begin() + static_cast<std::ptrdiff_t>(first), points.end());
  for (std::size_t i = 0; i < moved.size(); ++i)
    if (weight[first + i] > 0) moved[i] = sum[first + i] / weight[first + i];
  phi.resize(moved.size());
  surface.signed_distance(moved, phi);
  for (std::size_t i = 0; i < moved.size(); ++i)
    if (phi[i] < -least_moved_depth * spacing) points[first + i] = moved[i];
}

}  // namespace

mesh::TetMeshData mesh_delaunay(const MeshDistance& surface, const DelaunayMeshOptions& options) {
  require(options.spacing > 0, "the spacing must be positive, but is ", options.spacing);
  require(options.rounds >= 0, "there cannot be ", options.rounds, " rounds");
  require(options.least_ratio >= 0 && options.least_ratio < 1, "the least radius ratio must be in [0, 1), but is ",
          options.least_ratio);
  mesh::Box box;
  for (const mesh::Triangle& t : surface.mesh().triangles)
    for (const std::int32_t v : t) box.add(surface.mesh().vertices[v]);
  std::size_t inside = 0;
  std::vector<Point> points = scattered(surface, options, box, inside);
  mesh::TetMeshData best;
  double least_shortfall = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= options.rounds; ++round) {
    mesh::TetMeshData mesh{points, tets_inside(surface, box, points)};
    const std::vector<mesh::Tet> all = mesh.tets;
    std::vector<mesh::ElementQuality> quality(mesh.tets.size());
    mesh::measure_quality(mesh.view(), quality);
    std::vector<bool> kept(mesh.tets.size(), true);
    leave_out_slivers(mesh.view(), quality, options.least_ratio, kept);
    mesh::make_boundary_manifold(mesh.view(), mesh::Repair::shrink, kept);
    double shortfall = 0;
    for (std::size_t t = 0; t < kept.size(); ++t)
      if (kept[t]) shortfall += std::max(0.0, good_ratio - quality[t].radius_ratio);
    if (shortfall < least_shortfall) {
      least_shortfall = shortfall;
      keep_only(mesh, kept);
      best = std::move(mesh);
    }
    if (round < options.rounds) relax(surface, options.spacing, all, inside, points);
  }
  if (options.largest_part_only) keep_largest_part(best);
  mesh::sort_along_curve(best);
  return best;
}

}  // namespace meniscus::surface
