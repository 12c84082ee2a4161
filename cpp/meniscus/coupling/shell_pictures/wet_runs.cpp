#include "meniscus/coupling/shell_pictures/wet_runs.hpp"

#include "meniscus/surface/extraction/cut_cell.hpp"

#include <Eigen/Geometry>

#include <algorithm>
#include <limits>

namespace meniscus::coupling {
namespace {

using Segments = std::vector<std::pair<WetCrossing, WetCrossing>>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

int cube_edge_of(int a, int b) {
  const int low = std::min(a, b), axis = (a ^ b) >> 1;
  const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
  return 4 * axis + (low >> u & 1) + 2 * (low >> v & 1);
}

/// The segments of a ring of four corners, from before the first corner of a run to after its last. `edges`: their numbers.
template <class Add>
void runs_of_ring(const std::array<int, 4>& corners, const std::array<int, 4>& edges, unsigned wet, unsigned cut,
                  const Add& add) {
  const auto is_wet = [&](int k) { return (wet >> corners[at(k % 4)]) & 1u; };
  // Whether water ends between place k and the next.
  const auto ends = [&](int k) { return !is_wet(k) || !is_wet(k + 1) || ((cut >> edges[at(k % 4)]) & 1u); };
  for (int first = 0; first < 4; ++first) {
    if (!is_wet(first) || !ends(first + 3)) continue;
    int last = first;
    while (!ends(last)) ++last;
    add(WetCrossing{static_cast<std::int8_t>(edges[at((first + 3) % 4)]), static_cast<std::int8_t>(corners[at(first)])},
        WetCrossing{static_cast<std::int8_t>(edges[at(last % 4)]), static_cast<std::int8_t>(corners[at(last % 4)])});
  }
}

/// Faces of a cube that hold an edge.
unsigned faces_of(const WetCrossing& x) {
  const surface::CubeEdge& e = surface::cube_edges[at(x.edge)];
  unsigned bits = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (axis != e.axis) bits |= 1u << (2 * axis + (e.corner >> axis & 1));
  return bits;
}

/// A place near the middle of the edge, on the side of the wet end.
Vec<double, 3> place_of(const WetCrossing& x) {
  const surface::CubeEdge& e = surface::cube_edges[at(x.edge)];
  Vec<double, 3> p;
  for (int d = 0; d < 3; ++d) p[d] = x.corner >> d & 1;
  p[e.axis] = 0.5 + 0.05 * (2 * (x.corner >> e.axis & 1) - 1);
  return p;
}

/// Cuts the ear with the shortest chord that lies in no face of the cube, again and again.
void cut_ears(std::vector<WetCrossing> loop, std::vector<std::array<WetCrossing, 3>>& out) {
  while (loop.size() >= 3) {
    const std::size_t n = loop.size();
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n && n > 3; ++i) {
      const WetCrossing &a = loop[(i + n - 1) % n], &b = loop[(i + 1) % n];
      const bool in_face = (faces_of(a) & faces_of(b)) != 0;
      const double length = (place_of(a) - place_of(b)).squaredNorm() + (in_face ? 1e3 : 0.0);
      if (length < least) {
        least = length;
        best = i;
      }
    }
    out.push_back({loop[(best + n - 1) % n], loop[best], loop[(best + 1) % n]});
    loop.erase(loop.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

}  // namespace

void segments_of_square(unsigned wet, unsigned cut, Segments& out) {
  runs_of_ring(surface::square_round, {0, 1, 2, 3}, wet, cut,
               [&](const WetCrossing& first, const WetCrossing& last) { out.emplace_back(last, first); });
}

void triangles_of_cube(unsigned wet, unsigned cut, const std::array<double, 8>& values,
                       std::vector<std::array<WetCrossing, 3>>& out, Segments& segments) {
  const std::size_t begin = segments.size();
  for (int axis = 0; axis < 3; ++axis)
    for (int upper = 0; upper < 2; ++upper) {
      const int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, s = upper << axis;
      const std::array<int, 4> ring =
          upper ? std::array<int, 4>{s, s | u, s | u | v, s | v} : std::array<int, 4>{s, s | v, s | u | v, s | u};
      std::array<int, 4> edges;
      for (std::size_t k = 0; k < 4; ++k) edges[k] = cube_edge_of(ring[k], ring[(k + 1) % 4]);
      runs_of_ring(ring, edges, wet, cut, [&](const WetCrossing& a, const WetCrossing& b) { segments.emplace_back(a, b); });
    }
  bool parted = false;
  for (int e = 0; e < 12; ++e) {
    const surface::CubeEdge& edge = surface::cube_edges[at(e)];
    parted |= (cut >> e & 1) && (wet >> edge.corner & 1) && (wet >> (edge.corner | 1 << edge.axis) & 1);
  }
  if (!parted) {
    const surface::CubeCase& c = surface::cube_cases()[wet];
    const auto crossing_of = [&](int i) {
      const int e = c.edges[at(i)];
      const surface::CubeEdge& edge = surface::cube_edges[at(e)];
      const int corner = wet >> edge.corner & 1 ? edge.corner : edge.corner | 1 << edge.axis;
      return WetCrossing{static_cast<std::int8_t>(e), static_cast<std::int8_t>(corner)};
    };
    surface::for_each_triangle(c, surface::cube_crossings(c, values), [&](std::int8_t, const std::array<std::int8_t, 3>& k) {
      out.push_back({crossing_of(k[0]), crossing_of(k[1]), crossing_of(k[2])});
    });
    return;
  }
  // Each crossing begins one segment and ends one.
  std::vector<bool> used(segments.size() - begin);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    std::vector<WetCrossing> loop;
    for (std::size_t k = i; !used[k];) {
      used[k] = true;
      loop.push_back(segments[begin + k].first);
      std::size_t next = 0;
      while (!(segments[begin + next].first == segments[begin + k].second)) ++next;
      k = next;
    }
    cut_ears(std::move(loop), out);
  }
}

}  // namespace meniscus::coupling
