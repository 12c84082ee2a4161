#include "meniscus/collision/moving_frame.hpp"

#include "meniscus/collision/next_double.hpp"

#include <cmath>

namespace meniscus {
namespace {

/// Do the intervals that the first `split` and the other of four moving coordinates sweep in the frame overlap?
///
/// Any common motion may be taken off, so that of the frame need not be exact. What is left of a motion is rounded outward.
inline bool overlap_along(const double (&from)[4], const double (&to)[4], int split) {
  const double frame = 0.25 * ((to[0] - from[0]) + (to[1] - from[1]) + (to[2] - from[2]) + (to[3] - from[3]));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double low[2] = {infinity, infinity};
  double high[2] = {-infinity, -infinity};
  for (int k = 0; k < 4; ++k) {
    const int e = k < split ? 0 : 1;
    const double left = to[k] - frame;
    low[e] = std::min({low[e], from[k], next_down(left)});
    high[e] = std::max({high[e], from[k], next_up(left)});
  }
  // False only for numbers that are apart: where the motion of the frame is beyond all doubles, the pair stays.
  const bool apart = low[0] > high[1] || low[1] > high[0];
  return !apart || !(std::abs(frame) < infinity);
}

}  // namespace

std::size_t overlapping_in_moving_frame(PairKind kind, std::span<const Point> start, std::span<const Point> end,
                                        const PairBlock& block, ElementPair* pairs, Stencil* stencils) {
  const int split = kind == PairKind::vertex_face ? 1 : 2;
  std::size_t n = 0;
  for (std::size_t i = 0; i < block.stencils.size(); ++i) {
    bool overlap = true;
    for (int d = 0; d < 3; ++d) {
      double from[4];
      double to[4];
      for (std::size_t k = 0; k < 4; ++k) {
        const auto v = static_cast<std::size_t>(block.stencils[i][k]);
        from[k] = start[v][d];
        to[k] = end[v][d];
      }
      overlap &= overlap_along(from, to, split);
    }
    pairs[n] = block.pairs[i];
    stencils[n] = block.stencils[i];
    n += overlap;
  }
  return n;
}

}  // namespace meniscus
