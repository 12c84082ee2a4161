#include "meniscus/mesh/voronoi/voronoi_mesh.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/topology/ordering.hpp"
#include "meniscus/mesh/voronoi/circumcentre.hpp"
#include "meniscus/mesh/voronoi/edge_rings.hpp"
#include "meniscus/mesh/voronoi/plane_polygon.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

/// Distance of the sites outside from the middle of the box along each axis, in diagonals of the box. From one on, no point of
/// the box is closer to them than to a site in it.
constexpr double outer_distance = 4;
/// A face of less than this part of the square of the distance of its sites is round-off.
constexpr double least_area = 1e-13;
constexpr Index voronoi_chunk = 512;

/// The space that is closer to a site than to another one, relative to an origin.
struct HalfSpace {
  Point normal;
  double offset;
  HalfSpace(const Point& site, const Point& other, const Point& origin)
      : normal(other - site), offset(normal.dot(0.5 * (site - origin) + 0.5 * (other - origin))) {}
};

void clip_by_box(PlanePolygon& polygon, const Box& box, const Point& origin, Index except = 3) {
  for (Index d = 0; d < 3; ++d) {
    if (d == except) continue;
    const Point axis = Point::Unit(d);
    polygon.clip(axis, box.high[d] - origin[d]);
    polygon.clip(-axis, origin[d] - box.low[d]);
  }
}

void require_sites(std::span<const Point> sites, const Box& box) {
  for (Index d = 0; d < 3; ++d)
    require(std::isfinite(box.low[d]) && std::isfinite(box.high[d]) && box.low[d] < box.high[d],
            "the box must have its lower corner first, but along axis ", d, " it goes from ", box.low[d], " to ", box.high[d]);
  require(!sites.empty(), "cells need at least one site");
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Point& p = sites[i];
    require(p.allFinite(), "sites must be finite, but site ", i, " is not");
    require((p.array() >= box.low.array()).all() && (p.array() <= box.high.array()).all(), "sites must be in the box, but site ",
            i, " is at (", p[0], ", ", p[1], ", ", p[2], ")");
  }
}

std::vector<Point> with_outer_sites(std::span<const Point> sites, const Box& box) {
  std::vector<Point> points(sites.begin(), sites.end());
  const Point middle = 0.5 * (box.low + box.high);
  const double far = outer_distance * (box.high - box.low).norm();
  for (const double z : {-far, far})
    for (const double y : {-far, far})
      for (const double x : {-far, far}) points.push_back(middle + Point(x, y, z));
  return points;
}

/// Numbers tetrahedra along a curve through space, so that neighbours are close in memory.
void order_in_space(LinkedTets& linked, std::span<const Point> points) {
  const std::vector<std::int32_t> order = morton_order(points);
  std::vector<std::int32_t> rank(points.size()), start, tets, number(linked.tets.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<std::int32_t>(i);
  numerics::list_by_rows(std::ssize(points), start, tets, [&](auto&& add) {
    for (std::size_t t = 0; t < linked.tets.size(); ++t) {
      const auto& [a, b, c, d] = linked.tets[t];
      add(std::min(std::min(rank[a], rank[b]), std::min(rank[c], rank[d])), static_cast<std::int32_t>(t));
    }
  });
  for (std::size_t t = 0; t < tets.size(); ++t) number[tets[t]] = static_cast<std::int32_t>(t);
  LinkedTets out;
  out.tets.reserve(tets.size());
  out.neighbours.reserve(tets.size());
  for (const std::int32_t t : tets) {
    out.tets.push_back(linked.tets[t]);
    Tet& next = out.neighbours.emplace_back(linked.neighbours[t]);
    for (std::int32_t& n : next) n = n < 0 ? n : number[n];
  }
  linked = std::move(out);
}

/// The faces around edges, as they become.
class FaceBuilder {
 public:
  FaceBuilder(const LinkedTets& linked, std::span<const Point> points, const EdgeRings& rings, const Box& box)
      : linked_(linked), points_(points), rings_(rings), box_(box), centre_(linked.tets.size()), inside_(linked.tets.size()) {
    parallel_for(0, std::ssize(linked.tets), voronoi_chunk, [&](Index begin, Index end) {
      for (Index t = begin; t < end; ++t) {
        const Tet& c = linked.tets[t];
        const Point& x = centre_[t] = circumcentre(points[c[0]], points[c[1]], points[c[2]], points[c[3]]);
        inside_[t] = (x.array() >= box.low.array()).all() && (x.array() <= box.high.array()).all();
      }
    });
  }

  bool inside(Index tet) const { return inside_[tet]; }

  /// The polygon of an edge in `polygon`, or in `corners`, counter-clockwise about the normal.
  std::span<const Point> corners(Index edge, const Point& normal, PlanePolygon& polygon, std::vector<Point>& corners) const {
    const auto ring = rings_.ring(edge);
    if (std::all_of(ring.begin(), ring.end(), [&](std::int32_t t) { return inside_[t] != 0; })) {
      corners.clear();
      for (const std::int32_t t : ring) corners.push_back(centre_[t]);
      return corners;
    }
    const auto& [a, b, start] = rings_.edges[edge];
    const Point &x = points_[a], &y = points_[b];
    const Point origin = 0.5 * (x + y);
    polygon.begin(origin, normal, (box_.high - box_.low).norm());
    clip_by_box(polygon, box_, origin);
    for (const std::int32_t t : ring)
      for (const std::int32_t v : linked_.tets[t])
        if (v != a && v != b && v < std::ssize(points_) - 8) {
          const HalfSpace half(x, points_[v], origin);
          polygon.clip(half.normal, half.offset);
        }
    return polygon.corners();
  }

 private:
  const LinkedTets& linked_;
  std::span<const Point> points_;
  const EdgeRings& rings_;
  const Box& box_;
  std::vector<Point> centre_;
  std::vector<std::uint8_t> inside_;
};

}  // namespace

VoronoiMesh::VoronoiMesh(std::span<const Point> sites, const Box& box) : sites_(std::ssize(sites)), box_(box) {
  require_sites(sites, box);
  points_ = with_outer_sites(sites, box);
  linked_ = linked_delaunay(points_);
  order_in_space(linked_, points_);
  std::vector<std::uint8_t> used(points_.size(), 0), at_wall(points_.size(), 0);
  for (const Tet& t : linked_.tets)
    for (const std::int32_t v : t) used[v] = 1;
  for (Index i = 0; i < sites_; ++i)
    require(used[i] != 0, "sites must be apart, but site ", i, " is at the place of an earlier one");
  const EdgeRings rings(linked_, static_cast<std::int32_t>(sites_));
  const FaceBuilder builder(linked_, points_, rings, box_);

  // First the measures of all faces, then the corners of those that have an area.
  const Index n = rings.size();
  std::vector<PolygonMeasure> measure(n);
  std::vector<std::int64_t> corners(n);
  const auto with_corners = [&](Index edge, PlanePolygon& polygon, std::vector<Point>& scratch, auto&& use) {
    const Point way = points_[rings.edges[edge].b] - points_[rings.edges[edge].a];
    const double distance = way.norm();
    const Point normal = way / distance;
    use(normal, distance, builder.corners(edge, normal, polygon, scratch));
  };
  parallel_for(0, n, voronoi_chunk, [&](Index begin, Index end) {
    PlanePolygon polygon;
    std::vector<Point> scratch;
    for (Index e = begin; e < end; ++e)
      with_corners(e, polygon, scratch, [&](const Point& normal, double distance, std::span<const Point> x) {
        measure[e] = measure_polygon(x, normal);
        corners[e] = measure[e].area > least_area * distance * distance ? std::ssize(x) : 0;
      });
  });
  std::vector<Index> edge_of;
  for (Index e = 0; e < n; ++e) {
    if (corners[e] == 0) continue;
    edge_of.push_back(e);
    corner_start_.push_back(corner_start_.back() + corners[e]);
  }
  const Index count = std::ssize(edge_of);
  faces_.resize(edge_of.size());
  areas_.resize(edge_of.size());
  distances_.resize(edge_of.size());
  centroids_.resize(edge_of.size());
  normals_.resize(edge_of.size());
  corners_.resize(corner_start_.back());
  parallel_for(0, count, voronoi_chunk, [&](Index begin, Index end) {
    PlanePolygon polygon;
    std::vector<Point> scratch;
    for (Index f = begin; f < end; ++f) {
      const Index e = edge_of[f];
      with_corners(e, polygon, scratch, [&](const Point& normal, double distance, std::span<const Point> x) {
        faces_[f] = {rings.edges[e].a, rings.edges[e].b};
        areas_[f] = measure[e].area;
        distances_[f] = distance;
        centroids_[f] = measure[e].centroid;
        normals_[f] = normal;
        std::copy(x.begin(), x.end(), corners_.begin() + corner_start_[f]);
      });
    }
  });
  for (std::size_t t = 0; t < linked_.tets.size(); ++t)
    if (!builder.inside(static_cast<Index>(t)))
      for (const std::int32_t v : linked_.tets[t]) at_wall[v] = 1;
  add_wall_faces(at_wall);
  list_faces_of_cells();
  measure_cells();
  walk_.build(linked_, points_, sites_, box_);
}

void VoronoiMesh::add_wall_faces(std::span<const std::uint8_t> at_wall) {
  std::vector<std::int32_t> sites, start, tets_of;
  numerics::list_by_rows(std::ssize(points_), start, tets_of, [&](auto&& add) {
    for (std::size_t t = 0; t < linked_.tets.size(); ++t)
      for (const std::int32_t v : linked_.tets[t])
        if (at_wall[v] != 0) add(v, static_cast<std::int32_t>(t));
  });
  std::vector<std::int32_t> near;
  PlanePolygon polygon;
  for (std::int32_t i = 0; i < sites_; ++i) {
    if (at_wall[i] == 0) continue;
    near.clear();
    for (std::int32_t k = start[i]; k < start[i + 1]; ++k)
      for (const std::int32_t v : linked_.tets[tets_of[k]])
        if (v != i && v < sites_) near.push_back(v);
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    const Point& x = points_[i];
    for (std::int32_t wall = 0; wall < 6; ++wall) {
      const Index d = wall / 2;
      const Point normal = (wall % 2 == 0 ? -1 : 1) * Point::Unit(d);
      Point origin = x;
      origin[d] = wall % 2 == 0 ? box_.low[d] : box_.high[d];
      polygon.begin(origin, normal, (box_.high - box_.low).norm());
      for (const std::int32_t v : near) {
        const HalfSpace half(x, points_[v], origin);
        polygon.clip(half.normal, half.offset);
        if (polygon.corners().empty()) break;
      }
      clip_by_box(polygon, box_, origin, d);
      const PolygonMeasure found = measure_polygon(polygon.corners(), normal);
      const double reach = std::abs(x[d] - origin[d]);
      if (!(found.area > least_area * (box_.high - box_.low).squaredNorm() / static_cast<double>(sites_))) continue;
      faces_.push_back({i, -1 - wall});
      areas_.push_back(found.area);
      distances_.push_back(2 * reach);
      centroids_.push_back(found.centroid);
      normals_.push_back(normal);
      corners_.insert(corners_.end(), polygon.corners().begin(), polygon.corners().end());
      corner_start_.push_back(std::ssize(corners_));
    }
  }
}

void VoronoiMesh::list_faces_of_cells() {
  numerics::list_by_rows(sites_, cell_start_, cell_faces_, [&](auto&& add) {
    for (std::size_t f = 0; f < faces_.size(); ++f) {
      add(faces_[f].first, static_cast<std::int32_t>(f));
      if (!faces_[f].on_wall()) add(faces_[f].second, static_cast<std::int32_t>(f));
    }
  });
}

void VoronoiMesh::measure_cells() {
  volumes_.resize(sites_);
  parallel_for(0, sites_, voronoi_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      double sum = 0;
      for (const std::int32_t f : faces_of(i)) sum += areas_[f] * distances_[f];
      volumes_[i] = sum / 6;
    }
  });
}

std::int32_t VoronoiMesh::locate(const Point& point, std::int32_t& tet) const {
  const Point p = point.cwiseMax(box_.low).cwiseMin(box_.high);
  tet = walk_.walk(p, tet);
  std::int32_t best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int32_t v : linked_.tets[tet])
    if (v < sites_ && (points_[v] - p).squaredNorm() < least) {
      best = v;
      least = (points_[v] - p).squaredNorm();
    }
  if (best < 0) best = 0, least = (points_[0] - p).squaredNorm();
  // From cell to cell, each with a closer site: only the closest one has no such neighbour.
  for (bool closer = true; closer;) {
    closer = false;
    const std::int32_t here = best;
    for (const std::int32_t f : faces_of(here)) {
      if (faces_[f].on_wall()) continue;
      const std::int32_t v = faces_[f].across(here);
      if (const double d = (points_[v] - p).squaredNorm(); d < least) {
        best = v;
        least = d;
        closer = true;
      }
    }
  }
  return best;
}

void VoronoiMesh::locate(std::span<const Point> points, std::span<std::int32_t> out) const {
  parallel_for(0, std::ssize(points), voronoi_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      std::int32_t tet = walk_.start(points[i]);
      out[i] = locate(points[i], tet);
    }
  });
}

Index VoronoiMesh::nbytes() const {
  const auto of = [](const auto&... v) { return (static_cast<Index>(v.capacity() * sizeof(v[0])) + ...); };
  return walk_.nbytes() + of(points_, linked_.tets, linked_.neighbours, faces_, areas_, distances_, volumes_, centroids_,
                             normals_, corners_, corner_start_, cell_start_, cell_faces_);
}

}  // namespace meniscus::mesh
