#include "meniscus/fluids/voronoi/surface_samples.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"

#include <cmath>
#include <unordered_map>

namespace meniscus::fluids {
namespace {

using mesh::Point;

constexpr std::uint64_t jitter_seed = 0x5eed;

/// A vertex that has less room than this part of a cell before a wall is on the wall.
constexpr double at_wall = 1e-3;

/// Points in a lattice of cells, for those within a reach of at most a cell.
class NearPoints {
 public:
  explicit NearPoints(double cell) : per_cell_(1 / cell) {}

  bool any(const Point& p, double reach) const {
    const auto at = place(p);
    for (std::int64_t i = at[0] - 1; i <= at[0] + 1; ++i)
      for (std::int64_t j = at[1] - 1; j <= at[1] + 1; ++j)
        for (std::int64_t k = at[2] - 1; k <= at[2] + 1; ++k) {
          const auto found = lists_.find(key(i, j, k));
          if (found == lists_.end()) continue;
          for (const Point& q : found->second)
            if ((q - p).squaredNorm() < reach * reach) return true;
        }
    return false;
  }
  void add(const Point& p) {
    const auto at = place(p);
    lists_[key(at[0], at[1], at[2])].push_back(p);
  }

 private:
  std::array<std::int64_t, 3> place(const Point& p) const {
    std::array<std::int64_t, 3> at;
    for (unsigned d = 0; d < 3; ++d) at[d] = static_cast<std::int64_t>(std::floor(p[d] * per_cell_));
    return at;
  }
  static std::uint64_t key(std::int64_t i, std::int64_t j, std::int64_t k) {
    constexpr std::int64_t mask = (1 << 21) - 1;
    return static_cast<std::uint64_t>(i & mask) << 42 | static_cast<std::uint64_t>(j & mask) << 21 |
           static_cast<std::uint64_t>(k & mask);
  }

  double per_cell_;
  std::unordered_map<std::uint64_t, std::vector<Point>> lists_;
};

struct Candidate {
  Point place;
  double offset = 0;
  SampleState state = SampleState::wrong_side;
};

bool in_box(const mesh::Box& box, const Point& p) {
  return (p.array() > box.low.array()).all() && (p.array() < box.high.array()).all();
}

/// The sample on one side of a vertex, before others are looked at.
Candidate candidate_at(const SurfaceHits& surface, const mesh::Box& box, const LiquidSampleOptions& o, std::int32_t v,
                       const Point& normal, bool air, std::vector<SurfaceHit>& hits) {
  const Point& x = surface.surface().vertices[v];
  const Point way = (air ? o.cell : -o.cell) * normal;
  surface.cross(x, x + way, hits, v);
  if (!in_box(box, x)) return {x, 0, SampleState::outside};
  // A wall is as good as another surface.
  double free = hits.empty() ? 1.0 : hits[0].part, to_wall = 1.0;
  for (Index d = 0; d < 3; ++d)
    if (way[d] != 0) to_wall = std::min(to_wall, ((way[d] > 0 ? box.high[d] : box.low[d]) - x[d]) / way[d]);
  if (to_wall < at_wall) return {x, 0, SampleState::outside};
  free = std::min(free, to_wall);
  Candidate out;
  out.offset = (air ? o.air : o.liquid) * free * o.cell;
  out.place = x + (air ? o.air : o.liquid) * free * way;
  if (!in_box(box, out.place)) {
    out.state = SampleState::outside;
  } else if (air && free < o.gap) {
    out.state = SampleState::gap;
  } else {
    out.state = surface.inside(out.place) == air ? SampleState::wrong_side : SampleState::placed;
  }
  return out;
}

/// Samples closest to a solid move away from it as from another surface; those in it go.
void keep_from_solid(std::vector<Candidate>& candidates, const surface::SignedDistance& solid, const LiquidSampleOptions& o,
                     bool air, std::span<const Point> vertices) {
  std::vector<Point> places(candidates.size());
  std::vector<double> phi(candidates.size()), at_vertex(candidates.size());
  for (std::size_t v = 0; v < places.size(); ++v) places[v] = candidates[v].place;
  solid(places, phi);
  solid(vertices, at_vertex);
  for (std::size_t v = 0; v < places.size(); ++v) {
    Candidate& c = candidates[v];
    if (c.state != SampleState::placed) continue;
    if (at_vertex[v] <= 0) {
      c.state = SampleState::solid;
    } else if (air && at_vertex[v] < o.gap * o.cell) {
      c.state = SampleState::gap;
    } else if (phi[v] <= 0) {
      // Half of the way to the solid, as the distances along it tell.
      const double part = at_vertex[v] / (at_vertex[v] - phi[v]);
      c.place = vertices[v] + part / 2 * (c.place - vertices[v]);
      c.offset *= part / 2;
    }
  }
}

std::vector<std::int32_t> by_place(const std::vector<Candidate>& candidates) {
  std::vector<std::int32_t> order(candidates.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const Point &x = candidates[a].place, &y = candidates[b].place;
    return std::lexicographical_compare(x.data(), x.data() + 3, y.data(), y.data() + 3);
  });
  return order;
}

std::vector<Point> lattice_points(const mesh::Box& box, const LiquidSampleOptions& o) {
  const Point size = box.high - box.low;
  const double edge = o.lattice * o.cell;
  Coord<3> n;
  Point step;
  double count = 2;
  for (Index d = 0; d < 3; ++d) {
    n[d] = std::max<Index>(1, std::llround(size[d] / edge));
    step[d] = size[d] / static_cast<double>(n[d]);
    count *= static_cast<double>(n[d]);
  }
  require(count < 5e7, "the lattice would have ", count, " points; a larger cell_size helps");
  std::vector<Point> points;
  for (Index i = 0; i < n[0]; ++i)
    for (Index j = 0; j < n[1]; ++j)
      for (Index k = 0; k < n[2]; ++k)
        for (const double part : {0.25, 0.75}) {
          const Point cell(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
          Point p = cell + Point::Constant(part);
          if (o.jitter > 0) {
            const CounterRandom random(jitter_seed, points.size(), 0);
            const auto [x, y] = random.uniform2(0);
            const auto [z, unused] = random.uniform2(1);
            p += o.jitter * (2 * Point(x, y, z) - Point::Ones());
          }
          p = box.low + p.cwiseProduct(step);
          const Point margin = 1e-3 * step;
          points.push_back(p.cwiseMax(box.low + margin).cwiseMin(box.high - margin));
        }
  return points;
}

}  // namespace

std::vector<Point> vertex_normals(const mesh::TriangleMeshView& surface) {
  std::vector<Point> normals(surface.vertices.size(), Point::Zero());
  for (const mesh::Triangle& t : surface.triangles) {
    const Point n = mesh::area_vector(surface.vertices[t[0]], surface.vertices[t[1]], surface.vertices[t[2]]).normalized();
    for (std::size_t k = 0; k < 3; ++k) {
      const Point u = surface.vertices[t[(k + 1) % 3]] - surface.vertices[t[k]];
      const Point w = surface.vertices[t[(k + 2) % 3]] - surface.vertices[t[k]];
      normals[t[k]] += std::atan2(u.cross(w).norm(), u.dot(w)) * n;
    }
  }
  for (Point& n : normals)
    if (n.squaredNorm() > 0) n.normalize();
  return normals;
}

SurfaceSamples place_samples(const SurfaceHits& surface, const mesh::Box& box, const surface::SignedDistance& solid,
                             const LiquidSampleOptions& o) {
  SurfaceSamples out;
  const auto vertices = surface.surface().vertices;
  out.normals = vertex_normals(surface.surface());
  out.in_liquid.assign(vertices.size(), SampleState::outside);
  out.in_air = out.in_liquid;
  NearPoints all(o.cell);
  // Liquid first: a film keeps its samples whatever the air around it needs.
  for (const bool air : {false, true}) {
    if (o.regular) break;
    std::vector<Candidate> candidates(vertices.size());
    parallel_for(0, std::ssize(vertices), 64, [&](Index begin, Index end) {
      std::vector<SurfaceHit> hits;
      for (Index v = begin; v < end; ++v)
        candidates[v] = candidate_at(surface, box, o, static_cast<std::int32_t>(v), out.normals[v], air, hits);
    });
    if (solid) keep_from_solid(candidates, solid, o, air, vertices);
    NearPoints side(o.cell);
    auto& states = air ? out.in_air : out.in_liquid;
    for (const std::int32_t v : by_place(candidates)) {
      Candidate& c = candidates[v];
      if (c.state == SampleState::placed && side.any(c.place, o.crowd * c.offset)) c.state = SampleState::crowded;
      states[v] = c.state;
      if (c.state != SampleState::placed) continue;
      side.add(c.place);
      all.add(c.place);
      out.sites.push_back(c.place);
    }
  }
  out.at_surface = std::ssize(out.sites);
  const std::vector<Point> lattice = lattice_points(box, o);
  std::vector<std::uint8_t> kept(lattice.size(), 1);
  parallel_for(0, std::ssize(lattice), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Point& p = lattice[i];
      if (o.regular) continue;
      kept[i] = !all.any(p, o.lattice_to_samples * o.cell) && !surface.near(p, o.lattice_to_surface * o.cell) &&
                (surface.near(p, o.band * o.cell) || surface.inside(p));
    }
  });
  for (std::size_t i = 0; i < lattice.size(); ++i)
    if (kept[i] != 0) out.sites.push_back(lattice[i]);
  return out;
}

}  // namespace meniscus::fluids
