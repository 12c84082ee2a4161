/// Location of points relative to one tetrahedron: the exact side of each face, and barycentric coordinates.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <limits>

namespace meniscus::collision {

using TetCorners = std::array<mesh::Point, 4>;
using TetWeights = std::array<double, 4>;

/// Position of a point. A tetrahedron is closed: its faces belong to it. One without volume contains nothing.
enum class TetSide : std::int8_t { outside, boundary, interior };

/// +1 or -1 for the two orientations, 0 for a tetrahedron that is exactly flat.
int tet_orientation(const TetCorners& corner);

/// Six times the signed volumes between a point and the faces, where face k is opposite of corner k. Their sum is six times the
/// volume of the tetrahedron; divided by it they are the barycentric coordinates.
struct TetVolumes {
  TetWeights value;
  /// Each value is wrong by less than this.
  double bound;

  TetVolumes(const mesh::Point& p, const TetCorners& corner);

  /// The barycentric coordinates of a point that is not outside, if round-off changes them by less than 2^-36.
  bool weights(int orientation, TetWeights& w) const;
};

struct TetAnswer {
  TetSide side;
  /// Not negative, with sum 1 up to round-off, and exactly 0 for a corner whose face the point lies on; not set outside.
  TetWeights weights;
};

/// The exact side of a point, and its barycentric coordinates to 2^-36 or better, mostly much better. `orientation` is that of
/// the tetrahedron.
TetAnswer locate_in_tet(const mesh::Point& p, const TetCorners& corner, int orientation);

/// Barycentric coordinates of a point that is not outside, by exact arithmetic.
TetWeights exact_tet_weights(const mesh::Point& p, const TetCorners& corner, int orientation);

/// The side alone.
TetSide side_of_tet(const mesh::Point& p, const TetCorners& corner, int orientation);

// With the point as origin the volumes are triple products of the corners. Each of the 6 products of a triple product has 3
// rounded differences, and 2 products and 3 sums are rounded on its way: 8 roundings and one more for those of the bound; each
// product is at most that of the largest magnitudes along the axes. The rest of the bound covers underflow (2^-1075 for each
// product).
inline TetVolumes::TetVolumes(const mesh::Point& p, const TetCorners& corner) {
  const mesh::Point a = corner[0] - p;
  const mesh::Point b = corner[1] - p;
  const mesh::Point c = corner[2] - p;
  const mesh::Point d = corner[3] - p;
  const mesh::Point ab = a.cross(b);
  const mesh::Point cd = c.cross(d);
  value = {b.dot(cd), -a.dot(cd), ab.dot(d), -ab.dot(c)};
  const mesh::Point largest = a.cwiseAbs().cwiseMax(b.cwiseAbs()).cwiseMax(c.cwiseAbs().cwiseMax(d.cwiseAbs()));
  bound = 54 * 0x1p-53 * (largest[0] * largest[1] * largest[2]) + 0x1p-1015 * largest.sum() + 0x1p-1050;
}

inline bool TetVolumes::weights(int orientation, TetWeights& w) const {
  const double whole = orientation * ((value[0] + value[1]) + (value[2] + value[3]));
  if (!(bound <= 0x1p-39 * whole && whole <= std::numeric_limits<double>::max())) return false;
  const double scale = orientation / whole;
  for (std::size_t k = 0; k < 4; ++k) w[k] = std::max(value[k] * scale, 0.0);
  return true;
}

}  // namespace meniscus::collision
