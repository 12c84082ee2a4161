// What SubdivisionLocator knows of points and ways that may lie outside of the mesh.
#include "meniscus/collision/point_location/subdivision_location.hpp"

namespace meniscus::collision {
namespace {

/// In parts of a tetrahedron: more than what a walk takes for inside.
constexpr double slack = 1e-9;

/// From one part of a way to another; empty where they are not in order.
struct WayParts {
  double from = 0, to = 1;
  bool empty() const { return !(from <= to); }
};

/// The parts within a box, and a little more than these.
WayParts within(const mesh::Box& box, const mesh::Point& begin, const mesh::Point& path) {
  // What is added covers the rounding of points on the way.
  const double more =
      slack * (box.high - box.low).sum() + 0x1p-50 * std::max(box.low.cwiseAbs().maxCoeff(), box.high.cwiseAbs().maxCoeff());
  WayParts parts;
  for (Index d = 0; d < 3; ++d) {
    const double low = box.low[d] - more - begin[d], high = box.high[d] + more - begin[d];
    if (path[d] == 0) {
      if (low > 0 || high < 0) return {1, 0};
      continue;
    }
    const double a = low / path[d], b = high / path[d];
    parts.from = std::max(parts.from, std::min(a, b));
    parts.to = std::min(parts.to, std::max(a, b));
  }
  return parts;
}

}  // namespace

// A point that is not in any tetrahedron cannot be met by a walk either: then the search, which is the faster one of both outside
// of the mesh, has said all.
TetLocation SubdivisionLocator::locate(const mesh::Point& p, std::int32_t hint, Index level) const {
  const TetLocation first = search(p, level);
  if (first.tet < 0 || hint < 0) return first;
  const TetLocation near = walk(p, hint >> (3 * level), level);
  return near.tet < 0 ? first : near;
}

double SubdivisionLocator::last_touch(const mesh::Point& begin, const mesh::Point& end) const {
  const mesh::Point path = end - begin;
  double last = -1;
  pose_.tree.descend(
      [&](int level, Index i) {
        unsigned mask = 0;
        for (int k = 0; k < pose_.tree.children(level, i); ++k) {
          const WayParts parts = within(box_of_lane(pose_.tree.node(level, i), k), begin, path);
          mask |= static_cast<unsigned>(!parts.empty() && parts.to > last) << k;
        }
        return mask;
      },
      [&](Index leaf) {
        for (int lane = 0; lane < pose_.tree.count(leaf); ++lane) {
          const Index t = pose_.tree.elements(leaf)[lane];
          const WayParts parts = within(pose_.boxes[t], begin, path);
          if (parts.empty() || !(parts.to > last)) continue;
          // Within the box, coordinates are known up to the error, and linear on the way.
          WayParts inside;
          if (pose_.errors[t] < std::numeric_limits<double>::infinity()) {
            const double margin = 2 * pose_.errors[t] + slack;
            const TetWeights a = coordinates_at(begin + parts.from * path, static_cast<std::int32_t>(t));
            const TetWeights b = coordinates_at(begin + parts.to * path, static_cast<std::int32_t>(t));
            for (std::size_t k = 0; k < 4; ++k) {
              const double f = a[k] + margin, g = b[k] + margin;
              if (f < 0 && g < 0)
                inside = {1, -1};
              else if (g < 0)
                inside.to = std::min(inside.to, f / (f - g));
              else if (f < 0)
                inside.from = std::max(inside.from, f / (f - g));
            }
          }
          if (inside.from <= inside.to + slack) last = std::max(last, parts.from + (parts.to - parts.from) * inside.to);
        }
      });
  return last;
}

TetWeights SubdivisionLocator::coordinates_at(const mesh::Point& p, std::int32_t t) const {
  const AffineMap& map = pose_.maps[t];
  TetWeights b{1, 0, 0, 0};
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t k = 0; k < 4; ++k) b[k] += map.gradient[d][k] * (p[static_cast<Index>(d)] - map.origin[d]);
  return b;
}

}  // namespace meniscus::collision
