/// Sample points of a tetrahedron with equal weights, in barycentric coordinates.
///
/// Fixed sets lie strictly inside, have the centroid of the tetrahedron and are exact for linear functions:
///
/// | points        | set                                                                            | symmetries |
/// |---------------|--------------------------------------------------------------------------------|------------|
/// | 1             | centroid                                                                       | 24         |
/// | 5             | centroid and the 4 below                                                       | 24         |
/// | 4, 10, 20, 35 | lattice (i + 1/4, j + 1/4, k + 1/4, l + 1/4) / (m + 1), i + j + k + l = m = 1..4 | 24         |
/// | 8, 64         | centroids of the tetrahedra of one or two red subdivisions                     | 8          |
///
/// Those of quadrature rules (tet_rules.hpp) may be taken instead, with all 24 symmetries: with equal weights they are exact for
/// linear functions as well, of 4 and 8 points for polynomials of second and third degree.
///
/// A red subdivision cuts an octahedron along one of three diagonals and keeps the 8 symmetries that map this diagonal to itself.
///
/// Random sets are keyed by (seed, element, step): they depend on nothing else. Fixed sets do not converge as sample counts of a
/// set that moves: whatever N is, points never leave their places in the element.
///
/// Sources: Lee 2018, sections 3.3.1 and 3.3.2 (equal weights); Rocchini and Cignoni, "Generating random points in a
/// tetrahedron", 2000 (fold of the cube).
#pragma once

#include "meniscus/core/namespaces.hpp"
#include "meniscus/core/random.hpp"

#include <span>

namespace meniscus::mesh {

/// Barycentric coordinates in a tetrahedron; their sum is 1.
using TetWeights = std::array<double, 4>;

enum class TetSampling : std::int8_t {
  /// A lattice of low discrepancy, shifted randomly: the error of a mean falls faster than N^-1/2.
  stratified,
  /// Independent, uniform points.
  independent,
};

/// The set of n points, or that of the quadrature rule of n points. Throws InvalidArgument that lists the choices for other n.
std::span<const TetWeights> fixed_samples(Index n);
std::span<const TetWeights> quadrature_samples(Index n);

namespace detail {

/// Maps a point of the unit cube, in units of 2^-64, to the tetrahedron s, t, u >= 0, s + t + u <= 1: reflections that preserve
/// volume, without branches. ~x is 1 - x.
inline TetWeights folded(std::uint64_t s, std::uint64_t t, std::uint64_t u) {
  const auto mask = [](bool condition) { return -static_cast<std::uint64_t>(condition); };
  const std::uint64_t beyond_square = mask(s > ~t);
  s ^= beyond_square;
  t ^= beyond_square;
  const std::uint64_t beyond_prism = mask(t > ~u);
  const std::uint64_t beyond_face = mask(s + t > ~u) & ~beyond_prism;
  const std::uint64_t rest = ~(s + t);
  const std::uint64_t turned = ~(t + u);
  const std::uint64_t up = s + t + u;
  s ^= (s ^ turned) & beyond_face;
  t ^= (t ^ ~u) & beyond_prism;
  u ^= ((u ^ rest) & beyond_prism) | ((u ^ up) & beyond_face);
  // 53 bits of each are exact in a double, and so is the last weight.
  const auto unit = [](std::uint64_t x) { return static_cast<double>(static_cast<std::int64_t>(x >> 11)) * 0x1p-53; };
  const double x = unit(s), y = unit(t), z = unit(u);
  return {1.0 - x - y - z, x, y, z};
}

/// Three numbers of 42 random bits in the upper bits of 64.
inline std::array<std::uint64_t, 3> cube_point(const core::Philox4& w) {
  const auto joined = [&](std::uint32_t high, int shift) {
    return std::uint64_t{high} << 32 | std::uint64_t{(w[3] >> shift) & 0x3ffu} << 22;
  };
  return {joined(w[0], 0), joined(w[1], 10), joined(w[2], 20)};
}

// Powers of 1 / g, where g^4 = g + 1, in units of 2^-64: multiples of this vector, modulo 1, fill the cube evenly for any N
// (Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018).
inline constexpr std::array<std::uint64_t, 3> lattice_step{0xd1b54a32d192ed03u, 0xabc98388fb8fac03u, 0x8cb92ba72f3d8dd7u};

}  // namespace detail

/// Fills `out` with random points of one element at one step. `seed` is to differ from that of other uses of random numbers with
/// the same elements and steps.
inline void random_samples(TetSampling kind, std::uint64_t seed, std::uint64_t element, std::uint32_t step,
                           std::span<TetWeights> out) {
  const core::CounterRandom random(seed, element, step);
  if (kind == TetSampling::independent) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto [s, t, u] = detail::cube_point(random.words(static_cast<std::uint32_t>(i)));
      out[i] = detail::folded(s, t, u);
    }
    return;
  }
  auto [s, t, u] = detail::cube_point(random.words(0));
  for (TetWeights& weights : out) {
    weights = detail::folded(s, t, u);
    s += detail::lattice_step[0];
    t += detail::lattice_step[1];
    u += detail::lattice_step[2];
  }
}

/// The same for consecutive elements, in parallel: rows of out.size() / elements.size() points.
void random_samples(TetSampling kind, std::uint64_t seed, std::span<const std::int64_t> elements, std::uint32_t step,
                    std::span<TetWeights> out);

}  // namespace meniscus::mesh
