#include "meniscus/mesh/repair/orientation.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/search/box.hpp"
#include "meniscus/mesh/topology/surface_edges.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace meniscus::mesh {
namespace {

/// A volume below this times area^1.5 is that of a sheet.
constexpr double least_volume = 1e-9;
/// Vertices of a patch that are asked whether they lie within another one.
constexpr Index asked = 16;

Triangle sorted_corners(Triangle t) {
  std::sort(t.begin(), t.end());
  return t;
}

/// Triangles without those that do not count: these have a corner three times, so that no edge has them.
std::vector<Triangle> counting(std::span<const Triangle> triangles, std::span<const signed char> sides) {
  std::vector<Triangle> result(triangles.begin(), triangles.end());
  for (std::size_t t = 0; t < result.size(); ++t)
    if (sides[t] == 0) result[t] = {result[t][0], result[t][0], result[t][0]};
  return result;
}

/// Whether a triangle passes an edge from its lower vertex to the higher one.
bool passes_upwards(const Triangle& t, const TriangleTopology::Edge& e) {
  return (t[0] == e[0] && t[1] == e[1]) || (t[1] == e[0] && t[2] == e[1]) || (t[2] == e[0] && t[0] == e[1]);
}

/// Leaves out the triangles in groups of even size around which the surface goes on without them.
void leave_out_walls(std::span<const Triangle> triangles, std::span<const char> even, std::span<signed char> sides) {
  const TriangleTopology topology(counting(triangles, sides));
  numerics::DisjointSets<std::int32_t> walls(static_cast<Index>(triangles.size()));
  const auto edges = static_cast<Index>(topology.edges().size());
  const auto all_even = [&](Index e) {
    const auto at = topology.triangles_at(e);
    return std::all_of(at.begin(), at.end(), [&](std::int32_t t) { return even[t] != 0; });
  };
  for (Index e = 0; e < edges; ++e)
    if (all_even(e))
      for (const std::int32_t t : topology.triangles_at(e)) walls.join(topology.triangles_at(e)[0], t);
  // Edges around each wall at which the rest of the surface is closed, minus those at which it is open.
  std::vector<Index> closed(triangles.size(), 0);
  for (Index e = 0; e < edges; ++e) {
    if (all_even(e)) continue;
    const auto at = topology.triangles_at(e);
    const auto rest = std::count_if(at.begin(), at.end(), [&](std::int32_t t) { return even[t] == 0; });
    for (const std::int32_t t : at)
      if (even[t]) closed[walls.root(t)] += rest % 2 == 0 ? 1 : -1;
  }
  for (std::size_t t = 0; t < triangles.size(); ++t)
    if (even[t] && closed[walls.root(static_cast<std::int32_t>(t))] > 0) sides[t] = 0;
}

}  // namespace

double winding_contribution(const Point& p, const Point& a, const Point& b, const Point& c) {
  const Point x = a - p;
  const Point y = b - p;
  const Point z = c - p;
  const double determinant = x.dot(y.cross(z));
  if (determinant == 0) return 0;
  const double nx = x.norm();
  const double ny = y.norm();
  const double nz = z.norm();
  const double denominator = nx * ny * nz + x.dot(y) * nz + y.dot(z) * nx + z.dot(x) * ny;
  return std::atan2(determinant, denominator) * (0.5 * std::numbers::inv_pi);
}

SurfaceOrientation::SurfaceOrientation(const TriangleMeshView& mesh) : sides_(mesh.triangles.size(), 1) {
  leave_out_copies(mesh.triangles);
  turn_neighbours(mesh);
  find_parents(mesh);
  sides_ = sides(mesh);
}

void SurfaceOrientation::leave_out_copies(std::span<const Triangle> triangles) {
  std::vector<std::int32_t> order(triangles.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Triangle> key;
  for (const Triangle& t : triangles) key.push_back(sorted_corners(t));
  std::sort(order.begin(), order.end(),
            [&](std::int32_t a, std::int32_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
  std::vector<char> even(triangles.size(), 0);
  Index repeated = 0;
  bool any_even = false;
  for (std::size_t i = 0; i < order.size();) {
    const Triangle& k = key[order[i]];
    std::size_t end = i + 1;
    while (end < order.size() && key[order[end]] == k) ++end;
    const bool no_triangle = k[0] == k[1] || k[1] == k[2];
    for (std::size_t j = no_triangle ? i : i + 1; j < end; ++j) sides_[order[j]] = 0;
    if (no_triangle) repeated += static_cast<Index>(end - i);
    even[order[i]] = !no_triangle && (end - i) % 2 == 0;
    any_even |= even[order[i]] != 0;
    i = end;
  }
  if (any_even) leave_out_walls(triangles, even, sides_);
  doubled_ = std::count(sides_.begin(), sides_.end(), 0) - repeated;
}

void SurfaceOrientation::turn_neighbours(const TriangleMeshView& mesh) {
  const TriangleTopology topology(counting(mesh.triangles, sides_));
  std::vector<char> seen(mesh.triangles.size(), 0);
  const auto turn = [&](std::int32_t t, std::int32_t edge) {
    const auto at = topology.triangles_at(edge);
    const std::int32_t other = at[0] == t ? at[1] : at[0];
    const TriangleTopology::Edge& e = topology.edges()[edge];
    const bool alike = passes_upwards(mesh.triangle(t), e) == passes_upwards(mesh.triangle(other), e);
    const auto wanted = static_cast<signed char>(alike ? -sides_[t] : sides_[t]);
    if (seen[other]) {
      if (sides_[other] != wanted && other < t) ++one_sided_;
      return;
    }
    seen[other] = 1;
    sides_[other] = wanted;
    order_.push_back(other);
  };
  for (std::int32_t start = 0; start < static_cast<std::int32_t>(mesh.size()); ++start) {
    if (sides_[start] == 0 || seen[start]) continue;
    const auto first = static_cast<Index>(order_.size());
    seen[start] = 1;
    order_.push_back(start);
    for (Index next = first; next < static_cast<Index>(order_.size()); ++next) {
      const std::int32_t t = order_[next];
      for (const std::int32_t edge : topology.edges_of(t))
        if (topology.triangles_at(edge).size() == 2) turn(t, edge);
    }
    patches_.push_back({first, static_cast<Index>(order_.size())});
    double turned = 0;
    for (Index i = first; i < patches_.back().last; ++i) {
      const std::int32_t t = order_[i];
      turned += sides_[t] * area_vector(mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2)).norm();
    }
    if (turned < 0)
      for (Index i = first; i < patches_.back().last; ++i) sides_[order_[i]] = static_cast<signed char>(-sides_[order_[i]]);
  }
}

std::vector<double> SurfaceOrientation::volumes(const TriangleMeshView& mesh) const {
  std::vector<double> result(patches_.size(), 0.0);
  parallel_for(0, static_cast<Index>(patches_.size()), 1, [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p) {
      const Patch& patch = patches_[p];
      const Point origin = mesh.corner(order_[patch.first], 0);
      Point moment = Point::Zero(), sum = Point::Zero();
      double area = 0, volume = 0;
      for (Index i = patch.first; i < patch.last; ++i) {
        const std::int32_t t = order_[i];
        const Point a = mesh.corner(t, 0) - origin, b = mesh.corner(t, 1) - origin, c = mesh.corner(t, 2) - origin;
        const Point n = 0.5 * sides_[t] * (b - a).cross(c - a);
        const double size = n.norm();
        area += size;
        moment += size / 3 * (a + b + c);
        sum += n;
        volume += a.dot(n) / 3;
      }
      // From the centroid instead of the first corner.
      if (area > 0) volume -= moment.dot(sum) / (3 * area);
      result[p] = std::abs(volume) > least_volume * area * std::sqrt(area) ? volume : 0;
    }
  });
  return result;
}

bool SurfaceOrientation::within(const TriangleMeshView& mesh, const Patch& inner, const Patch& outer) const {
  const Index count = inner.last - inner.first;
  for (Index k = 0; k < std::min(count, asked); ++k) {
    const Point& p = mesh.corner(order_[inner.first + k * count / std::min(count, asked)], 0);
    const double winding = parallel_reduce(
        outer.first, outer.last, 4096, 0.0,
        [&](Index begin, Index end) {
          double sum = 0;
          for (Index i = begin; i < end; ++i) {
            const std::int32_t t = order_[i];
            sum += sides_[t] * winding_contribution(p, mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2));
          }
          return sum;
        },
        std::plus<double>());
    if (std::abs(winding) < 0.75) return false;
  }
  return true;
}

void SurfaceOrientation::find_parents(const TriangleMeshView& mesh) {
  const std::vector<double> volume = volumes(mesh);
  by_volume_.resize(patches_.size());
  std::iota(by_volume_.begin(), by_volume_.end(), 0);
  const auto size = [&](std::int32_t p) { return std::abs(volume[p]); };
  std::stable_sort(by_volume_.begin(), by_volume_.end(), [&](std::int32_t a, std::int32_t b) { return size(a) > size(b); });
  // Where nothing is inside out, nothing follows from what lies within what.
  if (std::none_of(volume.begin(), volume.end(), [](double v) { return v < 0; })) return;
  std::vector<Box> boxes(patches_.size());
  for (std::size_t p = 0; p < patches_.size(); ++p)
    for (Index i = patches_[p].first; i < patches_[p].last; ++i)
      for (int k = 0; k < 3; ++k) boxes[p].add(mesh.corner(order_[i], k));
  for (std::size_t i = 0; i < by_volume_.size(); ++i) {
    const std::int32_t inner = by_volume_[i];
    for (std::size_t j = i; j-- > 0 && volume[inner] != 0;) {
      const std::int32_t outer = by_volume_[j];
      const Box &a = boxes[inner], &b = boxes[outer];
      if (!(b.low.array() <= a.low.array()).all() || !(a.high.array() <= b.high.array()).all()) continue;
      if (!within(mesh, patches_[inner], patches_[outer])) continue;
      patches_[inner].parent = outer;
      break;
    }
  }
}

std::vector<signed char> SurfaceOrientation::sides(const TriangleMeshView& mesh) const {
  const std::vector<double> volume = volumes(mesh);
  std::vector<char> turned(patches_.size(), 0);
  std::vector<signed char> result = sides_;
  for (const std::int32_t p : by_volume_) {
    const Patch& patch = patches_[p];
    turned[p] = patch.parent >= 0 ? turned[patch.parent] : volume[p] < 0;
    if (turned[p])
      for (Index i = patch.first; i < patch.last; ++i) result[order_[i]] = static_cast<signed char>(-result[order_[i]]);
  }
  return result;
}

}  // namespace meniscus::mesh
