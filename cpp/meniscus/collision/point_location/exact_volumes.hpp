/// Volumes between a point and the faces of a tetrahedron as exact integers of a common scale, for the cases that floating point
/// leaves open.
#pragma once

#include "meniscus/collision/point_location/tet_point.hpp"
#include "meniscus/numerics/fixed_integer.hpp"

namespace meniscus::collision {

/// Six times the volumes, in units that are common to all. Volume k over their sum is barycentric coordinate k, so the
/// tetrahedron must not be flat.
template <class Integer>
using ExactVolumes = std::array<Integer, 4>;

namespace exact {

template <class Integer>
Integer exact_triple(const std::array<Integer, 3>& a, const std::array<Integer, 3>& b, const std::array<Integer, 3>& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

template <class Integer>
ExactVolumes<Integer> exact_volumes(const mesh::Point& p, const TetCorners& corner, int orientation, int low) {
  std::array<std::array<Integer, 3>, 4> x;
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t d = 0; d < 3; ++d)
      x[k][d] = Integer::scaled(corner[k][static_cast<Index>(d)], low) - Integer::scaled(p[static_cast<Index>(d)], low);
  ExactVolumes<Integer> volume{exact_triple(x[1], x[2], x[3]), -exact_triple(x[0], x[2], x[3]), exact_triple(x[0], x[1], x[3]),
                               -exact_triple(x[0], x[1], x[2])};
  if (orientation < 0)
    for (Integer& v : volume) v = -v;
  return volume;
}

}  // namespace exact

/// Calls f with the exact volumes, positive where the point is inside, whatever the orientation; `growth` bits remain free for
/// calculations with them. Ordinary coordinates take 256 bits, those of any exponents some thousand: three differences of doubles
/// multiply to at most 3 (2098 + 1) bits, sums of them to a few more.
template <class F>
auto with_exact_volumes(const mesh::Point& p, const TetCorners& corner, int orientation, int growth, F&& f) {
  numerics::BitRange range;
  for (int d = 0; d < 3; ++d) {
    range.add(p[d]);
    for (const mesh::Point& c : corner) range.add(c[d]);
  }
  const int bits = 3 * (range.width() + 1) + 6 + growth;
  if (bits <= 256) return f(exact::exact_volumes<numerics::FixedInteger<4>>(p, corner, orientation, range.low));
  if (bits <= 512) return f(exact::exact_volumes<numerics::FixedInteger<8>>(p, corner, orientation, range.low));
  return f(exact::exact_volumes<numerics::FixedInteger<108>>(p, corner, orientation, range.low));
}

/// part / whole for 0 <= part <= whole, by long division to 60 bits.
template <class Integer>
double exact_ratio(Integer part, const Integer& whole) {
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

}  // namespace meniscus::collision
