#include "meniscus/mesh/clipping/tet_overlap.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::mesh {
namespace {

constexpr Index overlap_chunk = 512;

using Corners = std::array<Point, 4>;
using OverlapValues = std::array<double, 4>;

/// Values of the planes of four faces at four points: [face][point].
using PlaneValues = std::array<OverlapValues, 4>;

bool precedes(const Point& a, const Point& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] != b[1] ? a[1] < b[1] : a[2] < b[2]; }

double largest_component(const Point& x) { return std::max({std::abs(x[0]), std::abs(x[1]), std::abs(x[2])}); }

bool boxes_overlap(const Corners& a, const Corners& b) {
  for (int d = 0; d < 3; ++d) {
    const double a_low = std::min(std::min(a[0][d], a[1][d]), std::min(a[2][d], a[3][d]));
    const double a_high = std::max(std::max(a[0][d], a[1][d]), std::max(a[2][d], a[3][d]));
    const double b_low = std::min(std::min(b[0][d], b[1][d]), std::min(b[2][d], b[3][d]));
    const double b_high = std::max(std::max(b[0][d], b[1][d]), std::max(b[2][d], b[3][d]));
    if (!(a_low < b_high && b_low < a_high)) return false;
  }
  return true;
}

/// Planes of the faces of a tetrahedron. The corners are taken in lexicographic order of their positions, so that a face has the
/// same plane, but for its side, in both of its tetrahedra.
class FacePlanes {
 public:
  explicit FacePlanes(const Corners& corners) : corners_(corners) {
    const auto order = [&](std::size_t i, std::size_t j) {
      if (precedes(corners[order_[j]], corners[order_[i]])) std::swap(order_[i], order_[j]);
    };
    order(0, 1), order(2, 3), order(0, 2), order(1, 3), order(1, 2);
    const Point e1 = at(1) - at(0), e2 = at(2) - at(0), e3 = at(3) - at(0);
    const Point f2 = at(2) - at(1), f3 = at(3) - at(1);
    normal_ = {f2.cross(f3), e2.cross(e3), e1.cross(e3), e1.cross(e2)};
    const double m1 = largest_component(e1), m2 = largest_component(e2), m3 = largest_component(e3);
    size_ = {largest_component(f2) * largest_component(f3), m2 * m3, m1 * m3, m1 * m2};
    const double six_volumes = normal_[3].dot(e3);
    // By the formula of `signed_volume` and in the order given, so that overlaps sum to what a caller takes for the volume.
    volume_ = std::abs(signed_volume(corners[0], corners[1], corners[2], corners[3]));
    const double side = six_volumes < 0 ? -1 : 1;
    normal_[0] *= -side;
    normal_[1] *= side;
    normal_[2] *= -side;
    normal_[3] *= side;
  }

  double volume() const { return volume_; }

  /// Six times the signed volume between each face, numbered by the opposite corner, and each point: positive on the inner side,
  /// 0 within the bound of rounding. Returns whether all points are outside of one face, or on it.
  bool evaluate(const Corners& points, PlaneValues& out) const {
    // Each term of the determinant is a product of three differences; all roundings together are below 24 units in the last place
    // of the product of the largest components.
    constexpr double rounding = 24 * std::numeric_limits<double>::epsilon();
    for (std::size_t j = 0; j < 4; ++j) {
      const Point& base = at(j == 0 ? 1 : 0);
      OverlapValues& value = out[order_[j]];
      bool inside = false;
      for (std::size_t i = 0; i < 4; ++i) {
        const Point x = points[i] - base;
        const double v = normal_[j].dot(x);
        value[i] = std::abs(v) <= rounding * size_[j] * largest_component(x) ? 0.0 : v;
        inside = inside || value[i] > 0;
      }
      if (!inside) return true;
    }
    return false;
  }

 private:
  const Point& at(std::size_t i) const { return corners_[order_[i]]; }

  const Corners& corners_;
  std::array<std::size_t, 4> order_{0, 1, 2, 3};
  std::array<Point, 4> normal_;
  OverlapValues size_;
  double volume_ = 0;
};

/// Faces that have a point beyond them.
std::array<bool, 4> passed(const PlaneValues& values) {
  std::array<bool, 4> found{};
  for (std::size_t k = 0; k < 4; ++k)
    found[k] = std::min(std::min(values[k][0], values[k][1]), std::min(values[k][2], values[k][3])) < 0;
  return found;
}

/// A linear function in barycentric coordinates, of which the last three are those of the polyhedron.
Point gradient(const OverlapValues& v) { return {v[1] - v[0], v[2] - v[0], v[3] - v[0]}; }

/// Whether a polyhedron comes within rounding of a plane.
bool touches(const ConvexPolyhedron& polyhedron, const OverlapValues& v) {
  const Point slope = gradient(v);
  const double near = 1e-13 * (std::abs(v[0]) + largest_component(slope));
  for (int i = 0; i < polyhedron.size(); ++i)
    if (v[0] + slope.dot(polyhedron.vertex(i)) <= near) return true;
  return false;
}

TetOverlap find_overlap(const Corners& a, const Corners& b, const HalfSpace* half_space) {
  if (!boxes_overlap(a, b)) return {};
  const FacePlanes planes_of_b(b);
  if (!(planes_of_b.volume() > 0)) return {};
  PlaneValues b_at_a;
  if (planes_of_b.evaluate(a, b_at_a)) return {};
  const FacePlanes planes_of_a(a);
  if (!(planes_of_a.volume() > 0)) return {};
  PlaneValues a_at_b;
  if (planes_of_a.evaluate(b, a_at_b)) return {};

  const std::array<bool, 4> a_passes = passed(b_at_a);
  const bool clips_a = planes_of_a.volume() <= planes_of_b.volume();
  const Corners& subject = clips_a ? a : b;
  const PlaneValues& values = clips_a ? b_at_a : a_at_b;
  const std::array<bool, 4> cuts = clips_a ? a_passes : passed(a_at_b);

  ConvexPolyhedron part({Point(0, 0, 0), Point(1, 0, 0), Point(0, 1, 0), Point(0, 0, 1)});
  std::array<int, 4> face{};
  for (std::size_t k = 0, clips = 0; k < 4; ++k) {
    if (!cuts[k]) continue;
    part.clip(-gradient(values[k]), values[k][0]);
    if (part.empty()) return {};
    face[k] = 4 + static_cast<int>(clips++);
  }

  TetOverlap result;
  for (std::size_t k = 0; k < 4; ++k)
    if (a_passes[k])
      result.crosses[k] = clips_a ? part.has_face(face[k]) || touches(part, values[k]) : part.has_face(static_cast<int>(k));
  if (half_space != nullptr) {
    OverlapValues height;
    for (std::size_t i = 0; i < 4; ++i) height[i] = half_space->normal.dot(subject[i] - half_space->origin) - half_space->offset;
    part.clip(gradient(height), -height[0]);
  }
  const VolumeMoment m = part.measure();
  const double whole = std::min(planes_of_a.volume(), planes_of_b.volume());
  result.volume = whole * std::min(6 * m.volume, 1.0);
  const Point weighted =
      (subject[1] - subject[0]) * m.moment[0] + (subject[2] - subject[0]) * m.moment[1] + (subject[3] - subject[0]) * m.moment[2];
  result.moment = 6 * whole * weighted + result.volume * subject[0];
  return result;
}

}  // namespace

TetOverlap overlap(const Corners& a, const Corners& b) { return find_overlap(a, b, nullptr); }

TetOverlap overlap(const Corners& a, const Corners& b, const HalfSpace& half_space) { return find_overlap(a, b, &half_space); }

void overlap_volumes(std::span<const Corners> a, std::span<const Corners> b, std::span<double> out) {
  parallel_for(0, static_cast<Index>(a.size()), overlap_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = overlap(a[i], b[i]).volume;
  });
}

}  // namespace meniscus::mesh
