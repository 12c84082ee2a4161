#include "meniscus/mesh/quality/element_quality.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <numbers>

namespace meniscus::mesh {
namespace {

constexpr Index quality_chunk = 1024;

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// The smallest and the largest of angles, each given as a multiple of its cosine and sine.
class AngleRange {
 public:
  void add(double cosine, double sine) {
    const double length = std::hypot(cosine, sine);
    const double c = length > 0 ? cosine / length : 1;
    if (c > largest_cosine_) {
      largest_cosine_ = c;
      smallest_ = {cosine, sine};
    }
    if (c < smallest_cosine_) {
      smallest_cosine_ = c;
      largest_ = {cosine, sine};
    }
  }
  double smallest() const { return std::atan2(smallest_[1], smallest_[0]); }
  double largest() const { return std::atan2(largest_[1], largest_[0]); }

 private:
  double largest_cosine_ = -2;
  double smallest_cosine_ = 2;
  std::array<double, 2> smallest_{};
  std::array<double, 2> largest_{};
};

/// Smallest altitude / longest edge of a tetrahedron of volume |six_volumes| / 6.
double tet_aspect(double six_volumes, double largest_double_area, double longest_squared) {
  return ratio(std::abs(six_volumes), largest_double_area * std::sqrt(longest_squared));
}

struct TetSizes {
  std::array<Point, 4> normal;  // of the faces, outward, twice their area long
  std::array<double, 4> double_area;
  std::array<double, 6> squared_edge;
  double six_volumes;
  double largest_double_area;
  double longest_squared;
};

TetSizes sizes_of(const std::array<Point, 4>& x) {
  TetSizes s;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto& f = tet_faces[k];
    s.normal[k] = area_vector(x[f[0]], x[f[1]], x[f[2]]);
    s.double_area[k] = s.normal[k].norm();
  }
  for (std::size_t e = 0; e < 6; ++e) s.squared_edge[e] = (x[tet_edges[e][1]] - x[tet_edges[e][0]]).squaredNorm();
  s.six_volumes = (x[1] - x[0]).dot((x[2] - x[0]).cross(x[3] - x[0]));
  s.largest_double_area = *std::max_element(s.double_area.begin(), s.double_area.end());
  s.longest_squared = *std::max_element(s.squared_edge.begin(), s.squared_edge.end());
  return s;
}

std::array<Point, 4> corners_of(const TetMeshView& mesh, Index t) {
  return {mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2), mesh.corner(t, 3)};
}

/// The same shape with its first corner at the origin and coordinates of at most one, so that no product over- or underflows.
template <std::size_t N>
std::array<Point, N> scaled(std::array<Point, N> x) {
  double largest = 0;
  for (std::size_t k = N; k-- > 0;) {
    x[k] -= x[0];
    largest = std::max(largest, x[k].cwiseAbs().maxCoeff());
  }
  if (largest > 0)
    for (Point& p : x) p /= largest;
  return x;
}

template <class Mesh, class Quality>
void measure(const Mesh& mesh, std::span<ElementQuality> out, Quality&& quality) {
  parallel_for(0, mesh.size(), quality_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) out[t] = quality(t);
  });
}

}  // namespace

ElementQuality tet_quality(const std::array<Point, 4>& corners) {
  const TetSizes s = sizes_of(scaled(corners));
  ElementQuality q;
  AngleRange angles;
  // The two faces at edge e are those opposite of the ends of the other edge, 5 - e.
  for (std::size_t e = 0; e < 6; ++e) {
    const Point& m = s.normal[tet_edges[5 - e][0]];
    const Point& n = s.normal[tet_edges[5 - e][1]];
    angles.add(-m.dot(n), m.cross(n).norm());
  }
  q.smallest_angle = angles.smallest();
  q.largest_angle = angles.largest();
  q.aspect = tet_aspect(s.six_volumes, s.largest_double_area, s.longest_squared);
  // Circumradius from the products of opposite edges (Crelle); inradius = 3 volumes / surface.
  const double p = std::sqrt(s.squared_edge[0] * s.squared_edge[5]);
  const double r = std::sqrt(s.squared_edge[1] * s.squared_edge[4]);
  const double t = std::sqrt(s.squared_edge[2] * s.squared_edge[3]);
  const double squared = (p + r + t) * (p + r - t) * (p - r + t) * (-p + r + t);
  const double surface = 0.5 * (s.double_area[0] + s.double_area[1] + s.double_area[2] + s.double_area[3]);
  q.radius_ratio = squared > 0 ? std::min(ratio(6 * s.six_volumes * s.six_volumes, surface * std::sqrt(squared)), 1.0) : 0;
  return q;
}

ElementQuality triangle_quality(const std::array<Point, 3>& corners) {
  const std::array<Point, 3> x = scaled(corners);
  ElementQuality q;
  AngleRange angles;
  std::array<double, 3> edge;
  for (std::size_t k = 0; k < 3; ++k) {
    const Point a = x[(k + 1) % 3] - x[k];
    const Point b = x[(k + 2) % 3] - x[k];
    angles.add(a.dot(b), a.cross(b).norm());
    edge[k] = a.norm();
  }
  q.smallest_angle = angles.smallest();
  q.largest_angle = angles.largest();
  const double double_area = area_vector(x[0], x[1], x[2]).norm();
  const double longest = *std::max_element(edge.begin(), edge.end());
  q.aspect = ratio(double_area, longest * longest);
  // 2 r / R with r = double area / perimeter and R = product of edges / (2 double areas).
  q.radius_ratio =
      std::min(ratio(4 * double_area * double_area, (edge[0] + edge[1] + edge[2]) * edge[0] * edge[1] * edge[2]), 1.0);
  return q;
}

void measure_quality(const TetMeshView& mesh, std::span<ElementQuality> out) {
  measure(mesh, out, [&](Index t) { return tet_quality(corners_of(mesh, t)); });
}

void measure_quality(const TriangleMeshView& mesh, std::span<ElementQuality> out) {
  measure(mesh, out, [&](Index t) { return triangle_quality({mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2)}); });
}

Index find_degenerate(const TetMeshView& mesh, std::span<const double> rest_volumes, double min_volume, double min_aspect,
                      std::span<bool> out) {
  return parallel_reduce(
      0, mesh.size(), quality_chunk, Index{0},
      [&](Index b, Index e) {
        Index count = 0;
        for (Index t = b; t < e; ++t) {
          const TetSizes s = sizes_of(scaled(corners_of(mesh, t)));
          const bool sound = signed_volume(mesh, t) > min_volume * rest_volumes[t] &&
                             tet_aspect(s.six_volumes, s.largest_double_area, s.longest_squared) >= min_aspect;
          out[t] = !sound;
          count += !sound;
        }
        return count;
      },
      [](Index a, Index b) { return a + b; });
}

}  // namespace meniscus::mesh
