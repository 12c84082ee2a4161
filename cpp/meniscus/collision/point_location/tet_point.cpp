#include "meniscus/collision/point_location/tet_point.hpp"

#include "meniscus/numerics/fixed_integer.hpp"
#include "meniscus/numerics/predicates.hpp"

namespace meniscus::collision {
namespace {

/// Three differences of doubles multiply to at most 3 (2098 + 1) bits, sums of them to a few more.
using Exact = numerics::FixedInteger<104>;

/// The sign of the volume beside face k, in the tetrahedron's own orientation.
int exact_side(const mesh::Point& p, TetCorners corner, int k, int orientation) {
  corner[static_cast<std::size_t>(k)] = p;
  return orientation * tet_orientation(corner);
}

Exact exact_triple(const std::array<Exact, 3>& a, const std::array<Exact, 3>& b, const std::array<Exact, 3>& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/// part / whole for 0 <= part <= whole, by long division to 60 bits.
double quotient(Exact part, const Exact& whole) {
  if (part == whole) return 1;
  std::uint64_t bits = 0;
  for (int i = 0; i < 60; ++i) {
    part = part + part;
    bits <<= 1;
    if (part < whole) continue;
    part = part - whole;
    bits |= 1;
  }
  return std::ldexp(static_cast<double>(bits), -60);
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
  numerics::BitRange range;
  for (int d = 0; d < 3; ++d) {
    range.add(p[d]);
    for (const mesh::Point& c : corner) range.add(c[d]);
  }
  std::array<std::array<Exact, 3>, 4> x;
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t d = 0; d < 3; ++d)
      x[k][d] = Exact::scaled(corner[k][static_cast<Index>(d)], range.low) - Exact::scaled(p[static_cast<Index>(d)], range.low);
  std::array<Exact, 4> volume{exact_triple(x[1], x[2], x[3]), -exact_triple(x[0], x[2], x[3]), exact_triple(x[0], x[1], x[3]),
                              -exact_triple(x[0], x[1], x[2])};
  Exact whole;
  for (Exact& v : volume) {
    if (orientation < 0) v = -v;
    whole = whole + v;
  }
  TetWeights w;
  for (std::size_t k = 0; k < 4; ++k) w[k] = quotient(volume[k], whole);
  return w;
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
