#include "meniscus/collision/continuous/moving_frame.hpp"

#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/simd.hpp"

#include <cmath>

namespace meniscus::collision {
namespace {

/// Pairs that are tested side by side.
constexpr int group = 32;
/// Far more than what rounding can do, relative to the largest coordinate of a pair: 2^-49.
constexpr double tolerance = 0x1p-49;

/// One coordinate of four points of a group of pairs, at both ends of the step.
struct Coordinates {
  double from[4][group];
  double to[4][group];
};

/// Marks the pairs whose two elements, the first `Split` points and the others, sweep intervals that are apart.
///
/// Any common motion may be taken off, so that of the frame need not be exact. What rounding does to the rest is less than a gap
/// that counts. Where a number is beyond all doubles, the comparison fails, and the pair stays.
template <int Split>
MENISCUS_INLINE void mark_apart(const Coordinates& x, std::uint8_t (&apart)[group]) {
  for (int i = 0; i < group; ++i) {
    double frame = 0;
    for (int k = 0; k < 4; ++k) frame += 0.25 * x.to[k][i] - 0.25 * x.from[k][i];
    double low[2];
    double high[2];
    double largest = 0;
    for (int k = 0; k < 4; ++k) {
      const double left = x.to[k][i] - frame;
      const double from = x.from[k][i];
      const double lower = from < left ? from : left;
      const double upper = from < left ? left : from;
      const double size = std::abs(from) + std::abs(left);
      largest = largest < size ? size : largest;
      const int e = k < Split ? 0 : 1;
      if (k == 0 || k == Split) {
        low[e] = lower;
        high[e] = upper;
      } else {
        low[e] = lower < low[e] ? lower : low[e];
        high[e] = upper > high[e] ? upper : high[e];
      }
    }
    const double gap = tolerance * largest;
    apart[i] |= static_cast<std::uint8_t>((low[0] - high[1] > gap) | (low[1] - high[0] > gap));
  }
}

}  // namespace

std::size_t overlapping_in_moving_frame(PairKind kind, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                                        const PairBlock& block, ElementPair* pairs, Stencil* stencils) {
  const StandardArithmetic arithmetic;
  std::size_t n = 0;
  for (std::size_t first = 0; first < block.stencils.size(); first += group) {
    const std::size_t count = std::min<std::size_t>(group, block.stencils.size() - first);
    std::uint8_t apart[group] = {};
    simd_dispatch([&] {
      Coordinates x[3];
      for (std::size_t i = 0; i < group; ++i) {
        // The last pair fills up the group.
        const Stencil& s = block.stencils[first + std::min(i, count - 1)];
        for (std::size_t k = 0; k < 4; ++k) {
          const mesh::Point& from = start[s[k]];
          const mesh::Point& to = end[s[k]];
          for (int d = 0; d < 3; ++d) {
            x[d].from[k][i] = from[d];
            x[d].to[k][i] = to[d];
          }
        }
      }
      for (const Coordinates& c : x) {
        if (kind == PairKind::vertex_face)
          mark_apart<1>(c, apart);
        else
          mark_apart<2>(c, apart);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      pairs[n] = block.pairs[first + i];
      stencils[n] = block.stencils[first + i];
      n += apart[i] == 0;
    }
  }
  return n;
}

}  // namespace meniscus::collision
