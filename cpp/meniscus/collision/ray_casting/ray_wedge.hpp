/// Intersection of straight lines with one thickened triangle ("wedge").
///
/// The wedge of a triangle is the set of points within half the thickness of it: a prism with rounded edges and corners. It is
/// the smallest such set of equal thickness in all directions, it contains the prism that is extruded along the face normal and
/// the edge normals, and it has volume even where the triangle has no area: a capsule around its longest edge, or a ball.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005, section 3
/// and figure 3; Selle, "Hybrid techniques for high-fidelity physical simulation of solids and fluids", 2008, section 4.3.
#pragma once

#include "meniscus/mesh/search/box_tree.hpp"

#include <cmath>

namespace meniscus::collision {

/// A triangle and its face plane, in lengths in which coordinates of the surface are at most 1.
struct WedgeTriangle {
  std::array<mesh::Point, 3> corner;
  /// Unit, or zero where the triangle has no area.
  mesh::Point normal;
  /// The corners lie at heights low to high above the first one along the normal: zero but for round-off.
  double low;
  double high;

  static WedgeTriangle of(const mesh::Point& a, const mesh::Point& b, const mesh::Point& c);
  mesh::Box box() const;
};

/// Reach of wedges in a query whose coordinates are at most `largest` (and those of the triangles at most 1).
///
/// "Clear" is proved by a direction along which the triangle and the segment are more than `radius` apart. Any direction will do;
/// only its projections must be right. With u = 2^-53 and M = largest, a difference of two coordinates is wrong by 2 u M at most
/// and a projection of it by (1 + 3) 2 sqrt(3) u M < 14 u M times the length of the direction; a gap between two projections by
/// 35 u M, the length by 4 u of itself. Where a segment is cut at a slab first, its ends move by 40 u M across the slab and 8 u M
/// otherwise. Both stay below 64 u (M + radius), a quarter of `unit`.
///
/// Points must be closer than segments to count as met, by more than the round-off of their distance. So a wedge that contains an
/// end of a segment also meets the segment.
struct WedgeReach {
  double point;
  double segment;
  double box;

  WedgeReach(double radius, double largest) {
    const double unit = 0x1p-45 * (std::max(largest, 1.0) + radius);
    point = radius + unit;
    segment = radius + 3 * unit;
    box = radius + 4 * unit;
  }
};

/// False only where the point is farther away from the triangle than the radius of the wedge; true up to 2^-44 beyond it.
bool point_in_wedge(const WedgeTriangle& w, const mesh::Point& p, const WedgeReach& reach);

/// False only where all of the segment is farther away than the radius. Does not depend on the order of its ends.
bool segment_meets_wedge(const WedgeTriangle& w, const mesh::Point& a, const mesh::Point& b, const WedgeReach& reach);

/// Entry of a segment that meets the wedge: the fraction of the way from a to b, 0 if a is inside.
double wedge_entry(const WedgeTriangle& w, const mesh::Point& a, const mesh::Point& b, const WedgeReach& reach);

/// A segment prepared for intersection with many boxes.
class BoxRay {
 public:
  BoxRay(const mesh::Point& a, const mesh::Point& b, double reach) : inverse_((b - a).cwiseInverse()) {
    for (std::size_t d = 0; d < 3; ++d) {
      const auto k = static_cast<Index>(d);
      const bool down = std::signbit(inverse_[k]);
      near_[d] = down ? d + 3 : d;
      far_[d] = down ? d : d + 3;
      near_origin_[k] = down ? a[k] - reach : a[k] + reach;
      far_origin_[k] = down ? a[k] + reach : a[k] - reach;
    }
  }

  /// Parameter at which the segment enters the box, widened by the reach: in [0, 1], or infinity if it misses. Never later for a
  /// larger box. A coordinate at which the segment enters is wrong by 2 u times its distance for the quotient and u times the
  /// largest coordinate for each of two differences, less than 8 u times the largest coordinate in all, which the reach covers.
  /// Where the segment runs along a side, 0 * infinity gives NaN, which limits nothing.
  double entry(const mesh::Box& box) const {
    static_assert(sizeof(mesh::Box) == 6 * sizeof(double));
    const double* const side = box.low.data();
    double from = 0;
    double to = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto k = static_cast<Index>(d);
      const double first = (side[near_[d]] - near_origin_[k]) * inverse_[k];
      const double last = (side[far_[d]] - far_origin_[k]) * inverse_[k];
      from = first > from ? first : from;
      to = last < to ? last : to;
    }
    return from <= to ? from : std::numeric_limits<double>::infinity();
  }

  /// The same for eight boxes.
  template <class T>
  void entries(const mesh::BoxLanes<T>& boxes, double* out) const {
    for (int k = 0; k < mesh::lanes; ++k) {
      double from = 0;
      double to = 1;
      for (int d = 0; d < 3; ++d) {
        const bool down = near_[d] != static_cast<std::size_t>(d);
        const double first = ((down ? boxes.high[d][k] : boxes.low[d][k]) - near_origin_[d]) * inverse_[d];
        const double last = ((down ? boxes.low[d][k] : boxes.high[d][k]) - far_origin_[d]) * inverse_[d];
        from = first > from ? first : from;
        to = last < to ? last : to;
      }
      out[k] = from <= to ? from : std::numeric_limits<double>::infinity();
    }
  }

 private:
  mesh::Point inverse_;
  /// The box's near side seen from a point is as far away as the unwidened one from a point moved by the reach.
  mesh::Point near_origin_, far_origin_;
  /// Indices of the near and far sides of a box along each axis; the three lower sides come first, then the upper ones.
  std::array<std::size_t, 3> near_, far_;
};

}  // namespace meniscus::collision
