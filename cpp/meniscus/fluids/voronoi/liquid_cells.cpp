#include "meniscus/fluids/voronoi/liquid_cells.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

using mesh::Point;

constexpr Index face_chunk = 256;
/// The least distance from a site to the surface along an edge, in lengths of the edge. It is the same in the matrix and in the
/// change of the velocity; samples beside the surface never come near it.
constexpr double least_reach = 1e-4;

/// The part of a triangle where the linear function through its values is positive.
double positive_part(double a, double b, double c) {
  if (a > b) std::swap(a, b);
  if (b > c) std::swap(b, c);
  if (a > b) std::swap(a, b);
  if (a > 0) return 1;
  if (c <= 0) return 0;
  return b > 0 ? 1 - a * a / ((b - a) * (c - a)) : c * c / ((c - a) * (c - b));
}

/// The crossings that count from the first site on: pairs that enclose a gap of merged surfaces do not.
std::size_t first_crossing(std::span<const SurfaceHit> hits, double least) {
  std::size_t k = 0;
  while (k + 2 < hits.size() && hits[k + 1].part - hits[k].part < least) k += 2;
  return k;
}

double pressure_at(const SurfaceHit& hit, const SurfaceHits& surface, std::span<const double> pressure) {
  const mesh::Triangle& t = surface.surface().triangles[hit.triangle];
  return hit.barycentric[0] * pressure[t[0]] + hit.barycentric[1] * pressure[t[1]] + hit.barycentric[2] * pressure[t[2]];
}

class SideFinder {
 public:
  SideFinder(const mesh::VoronoiMesh& mesh, const SurfaceHits& surface, std::span<const double> pressure,
             const LiquidCellsOptions& options, const LiquidCells& cells)
      : mesh_(mesh), surface_(surface), pressure_(pressure), options_(options), cells_(cells) {}

  std::array<FaceSide, 2> sides(Index f, std::vector<SurfaceHit>& hits) const {
    const auto& [a, b] = mesh_.faces()[f];
    std::array<FaceSide, 2> out;
    const bool first = cells_.liquid[a] != 0;
    if (b < 0) {
      if (first) out[0].beyond = Beyond::wall;
      return out;
    }
    const bool second = cells_.liquid[b] != 0;
    if ((!first && !second) || cells_.open[f] <= 0) return out;
    surface_.cross(mesh_.sites()[a], mesh_.sites()[b], hits);
    const double length = mesh_.distances()[f];
    const double least = options_.gap / length;
    if (first && second) {
      // The widest way through air that lies between.
      const bool merged = hits.size() < 2 || hits.back().part - hits.front().part < least;
      if (merged) {
        out[0].beyond = out[1].beyond = Beyond::liquid;
        return out;
      }
    }
    if (first) out[0] = behind_air(a, length, hits, least);
    if (second) {
      std::reverse(hits.begin(), hits.end());
      for (SurfaceHit& h : hits) h.part = 1 - h.part;
      out[1] = behind_air(b, length, hits, least);
    }
    return out;
  }

 private:
  FaceSide behind_air(std::int32_t site, double length, std::span<const SurfaceHit> hits, double least) const {
    FaceSide out{Beyond::air, 0.5 * length, 0};
    if (!hits.empty() && options_.exact_crossings) {
      const SurfaceHit& hit = hits[first_crossing(hits, least)];
      out.reach = std::max(hit.part, least_reach) * length;
      out.pressure = pressure_at(hit, surface_, pressure_);
      return out;
    }
    const collision::MeshPoint close = collision::closest_point(surface_.tree(), mesh_.sites()[site]);
    const SurfaceHit hit{0, close.triangle, true, close.barycentric};
    out.pressure = pressure_at(hits.empty() ? hit : hits[0], surface_, pressure_);
    const double here = std::sqrt(close.squared_distance);
    out.reach = std::clamp(here, least_reach * length, length);
    return out;
  }

  const mesh::VoronoiMesh& mesh_;
  const SurfaceHits& surface_;
  std::span<const double> pressure_;
  const LiquidCellsOptions& options_;
  const LiquidCells& cells_;
};

/// Open parts of faces, and the flow of the solid through the rest.
void open_faces(const mesh::VoronoiMesh& mesh, const CellSolid& solid, LiquidCells& out) {
  const Index n = std::ssize(mesh.faces());
  out.open.assign(mesh.faces().size(), 1.0);
  out.solid_flow.assign(mesh.faces().size(), 0.0);
  if (!solid.distance) return;
  const auto corners = mesh.polygon_corners();
  std::vector<double> at_corner(corners.size()), at_middle(mesh.faces().size());
  std::vector<Point> velocity(mesh.faces().size(), Point::Zero());
  solid.distance(corners, at_corner);
  solid.distance(mesh.centroids(), at_middle);
  if (solid.velocity) solid.velocity(mesh.centroids(), velocity);
  parallel_for(0, n, face_chunk, [&](Index begin, Index end) {
    for (Index f = begin; f < end; ++f) {
      const Index first = mesh.polygon_starts()[f], count = mesh.polygon_starts()[f + 1] - first;
      const Point &middle = mesh.centroids()[f], &normal = mesh.normals()[f];
      double open = 0;
      for (Index k = 0; k < count; ++k) {
        const Index i = first + k, j = first + (k + 1) % count;
        const double area = mesh::area_vector(middle, corners[i], corners[j]).dot(normal) / 2;
        open += area * positive_part(at_middle[f], at_corner[i], at_corner[j]);
      }
      out.open[f] = std::clamp(open / mesh.areas()[f], 0.0, 1.0);
      out.solid_flow[f] = (1 - out.open[f]) * mesh.areas()[f] * velocity[f].dot(normal);
    }
  });
}

void find_parts(const mesh::VoronoiMesh& mesh, LiquidCells& out) {
  out.part.assign(out.liquid.size(), -1);
  out.closed.clear();
  std::vector<std::int32_t> front;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    if (out.liquid[i] == 0 || out.part[i] >= 0) continue;
    const auto usable = [&](std::int32_t f) {
      const FaceSide& side = out.sides[f][mesh.faces()[f].first != i];
      return side.beyond == Beyond::liquid || side.beyond == Beyond::air;
    };
    const auto faces = mesh.faces_of(i);
    if (std::none_of(faces.begin(), faces.end(), usable)) continue;
    const auto number = static_cast<std::int32_t>(out.closed.size());
    out.closed.push_back(1);
    out.part[i] = number;
    front.assign(1, i);
    while (!front.empty()) {
      const std::int32_t c = front.back();
      front.pop_back();
      for (const std::int32_t f : mesh.faces_of(c)) {
        const bool second = mesh.faces()[f].first != c;
        if (out.sides[f][second].beyond == Beyond::air) out.closed.back() = 0;
        if (out.sides[f][second].beyond != Beyond::liquid) continue;
        const std::int32_t next = mesh.faces()[f].across(c);
        if (out.part[next] >= 0) continue;
        out.part[next] = number;
        front.push_back(next);
      }
    }
  }
}

}  // namespace

Index LiquidCells::nbytes() const {
  const auto of = [](const auto&... v) { return (static_cast<Index>(v.capacity() * sizeof(v[0])) + ...); };
  return of(liquid, open, solid_flow, sides, part, closed);
}

void classify_cells(const mesh::VoronoiMesh& mesh, const SurfaceHits& surface, std::span<const double> pressure,
                    const CellSolid& solid, const LiquidCellsOptions& options, LiquidCells& out) {
  out.liquid.resize(mesh.sites().size());
  surface.inside(mesh.sites(), out.liquid);
  open_faces(mesh, solid, out);
  out.sides.resize(mesh.faces().size());
  const SideFinder finder(mesh, surface, pressure, options, out);
  parallel_for(0, std::ssize(mesh.faces()), face_chunk, [&](Index begin, Index end) {
    std::vector<SurfaceHit> hits;
    for (Index f = begin; f < end; ++f) out.sides[f] = finder.sides(f, hits);
  });
  find_parts(mesh, out);
}

}  // namespace meniscus::fluids
