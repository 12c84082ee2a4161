#include "meniscus/collision/point_location/tet_point.hpp"

#include "meniscus/collision/point_location/exact_volumes.hpp"
#include "meniscus/numerics/predicates.hpp"

namespace meniscus::collision {
namespace {

/// The sign of the volume beside face k, in the tetrahedron's own orientation.
int exact_side(const mesh::Point& p, TetCorners corner, int k, int orientation) {
  corner[k] = p;
  return orientation * tet_orientation(corner);
}

struct Sides {
  TetSide side;
  std::array<bool, 4> on_face;
};

Sides sides_of(const TetVolumes& v, const mesh::Point& p, const TetCorners& corner, int orientation) {
  Sides r{TetSide::interior, {}};
  if (orientation == 0) return {TetSide::outside, {}};
  bool certain = true;
  for (std::size_t k = 0; k < 4; ++k) {
    const double x = orientation * v.value[k];
    if (x < -v.bound) return {TetSide::outside, {}};
    certain = certain && x > v.bound;
  }
  if (certain) return r;
  for (std::size_t k = 0; k < 4; ++k) {
    if (orientation * v.value[k] > v.bound) continue;
    const int s = exact_side(p, corner, static_cast<int>(k), orientation);
    if (s < 0) return {TetSide::outside, {}};
    r.on_face[k] = s == 0;
    if (s == 0) r.side = TetSide::boundary;
  }
  return r;
}

}  // namespace

int tet_orientation(const TetCorners& corner) { return numerics::orient3d(corner[0], corner[1], corner[2], corner[3]); }

TetWeights exact_tet_weights(const mesh::Point& p, const TetCorners& corner, int orientation) {
  return with_exact_volumes(p, corner, orientation, 1, [](const auto& volume) {
    const auto whole = (volume[0] + volume[1]) + (volume[2] + volume[3]);
    TetWeights w;
    for (std::size_t k = 0; k < 4; ++k) w[k] = exact_ratio(volume[k], whole);
    return w;
  });
}

TetSide side_of_tet(const mesh::Point& p, const TetCorners& corner, int orientation) {
  return sides_of(TetVolumes(p, corner), p, corner, orientation).side;
}

TetAnswer locate_in_tet(const mesh::Point& p, const TetCorners& corner, int orientation) {
  const TetVolumes v(p, corner);
  const Sides sides = sides_of(v, p, corner, orientation);
  TetAnswer r{sides.side, {}};
  if (sides.side == TetSide::outside) return r;
  if (!v.weights(orientation, r.weights)) r.weights = exact_tet_weights(p, corner, orientation);
  for (std::size_t k = 0; k < 4; ++k)
    if (sides.on_face[k]) r.weights[k] = 0;
  return r;
}

}  // namespace meniscus::collision
