/// Distances of samples near walls and sides that the surface within the domain does not determine.
///
/// The surface goes on in walls, into which the level set was continued, and may go on beyond sides. Where the closest point of a
/// sample lies there, the eikonal equation has inflow: its solution is given by values, not by the surface. Continued values and
/// extrapolated interpolants would serve, but both repeat what the samples outside say with a gain, and errors of round-off grow
/// with every redistancing until water at rest moves. So where the level set is the distance to a plane (Crossings::flat()), such
/// samples keep their value. Elsewhere those beside the surface have the interpolant, the others take their distance from
/// neighbours on their own side.
#pragma once

#include "meniscus/surface/redistancing/interface_search.hpp"

namespace meniscus::surface {

/// Cells by which a closest point must lie beyond a side, so that round-off does not decide.
inline constexpr double side_slack = 1e-6;
/// Cells within which walls are looked for, at most; the windows of blocks hold as many.
inline constexpr double farthest_wall = 5.5;
/// Deviation of |grad phi|^2 from one up to which the values beside a sample are taken for distances.
inline constexpr double most_off = 0.3;
/// A neighbour tells the distance of a sample beyond it if the square of the slope across is less than this.
inline constexpr double most_across = 0.5;

/// Part that inflow has in the distance of a sample.
enum class Inflow {
  none,
  /// The closest point lies beyond a wall or a side: the distance is that of distance().
  given,
  /// A continued sample beside one outside keeps its value, which passes the surface in the wall on to that. So what is on one
  /// side of a wall does not reach the other.
  kept,
  /// Likewise, where the continuations of two sides meet with a jump: it tells neither of them anything.
  torn,
};

template <class T, int D, class Visibility>
class InflowSearch {
 public:
  using Crossings = typename InterfaceSearch<T, D>::Crossings;

  /// `at_sides`: the surface goes on beyond sides.
  InflowSearch(const InterfaceSearch<T, D>& search, const StripGrid<D>& grid, const VisibleAt<D, Visibility>& visible,
               bool at_sides)
      : search_(search), grid_(grid), visible_(visible), at_sides_(at_sides) {}

  Inflow of(const Coord<D>& c, const Crossings& r) const {
    if (Visibility::all_visible && !at_sides_) return Inflow::none;
    if (visible_.continued(c)) return of_continued(c);
    double square = 0.0;
    for (const double g : r.gradient) square += g * g;
    // What is no distance yet tells nothing.
    if (!(std::abs(square - 1.0) < most_off)) return Inflow::none;
    std::array<double, D> to;
    for (std::size_t d = 0; d < D; ++d) to[d] = -search_.value(c) * r.gradient[d] / square;
    return (at_sides_ && beyond_side(c, to)) || in_wall(c, to) ? Inflow::given : Inflow::none;
  }

  /// The same for a continued sample.
  Inflow of_continued(const Coord<D>& c) const {
    bool beside = false, jump = false;
    grid_.for_each_beside(c, [&](int, const Coord<D>& q) {
      if (visible_.continued(q)) return;
      beside = true;
      jump |= std::abs(search_.value(q) - search_.value(c)) > largest_continued_change;
    });
    return jump ? Inflow::torn : beside ? Inflow::kept : Inflow::none;
  }

  /// From neighbours that are closer to the surface: along the axis to one |grad phi| = 1, along the others it has the slopes
  /// beside that neighbour, which do not involve the sample itself. The mean, weighted by how much they tell; the old value where
  /// there is none.
  double distance(const Coord<D>& c) const {
    const double own = search_.value(c);
    const bool continued = visible_.continued(c);
    double sum = 0.0, weights = 0.0;
    grid_.for_each_beside(c, [&](int along, const Coord<D>& near) {
      const double value = search_.value(near);
      if (!usable(near, continued) || (value > 0.0) != (own > 0.0) || !(std::abs(value) < std::abs(own))) return;
      const double across = slopes_across(near, along, continued), weight = std::max(0.0, most_across - across);
      if (weight > 0.0) sum += weight * (std::abs(value) + std::sqrt(1.0 - across));
      weights += weight;
    });
    return weights > 0.0 ? sum / weights : std::abs(own);
  }

 private:
  bool usable(const Coord<D>& q, bool by_continued) const { return visible_(q) && (by_continued || !visible_.continued(q)); }

  bool beyond_side(const Coord<D>& c, const std::array<double, D>& to) const {
    bool beyond = false;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      beyond |= grid_.below(d, c[axis] + static_cast<Index>(std::floor(to[axis] + side_slack)));
      beyond |= grid_.above(d, c[axis] + static_cast<Index>(std::ceil(to[axis] - side_slack)));
    }
    return beyond;
  }

  bool in_wall(const Coord<D>& c, const std::array<double, D>& to) const {
    if constexpr (Visibility::all_visible) return false;
    Coord<D> q;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      if (!(std::abs(to[axis]) < farthest_wall)) return false;
      q[axis] = grid_.nearest(d, c[axis] + static_cast<Index>(std::lround(to[axis])));
    }
    return visible_.continued(q);
  }

  /// The square of the slope at a sample along all axes but one; one if it is unknown.
  double slopes_across(const Coord<D>& c, int along, bool by_continued) const {
    double square = 0.0;
    for (int d = 0; d < D; ++d) {
      if (d == along) continue;
      const Index axis = d;
      double change = 0.0;
      int found = 0;
      for (const int step : {-1, 1}) {
        Coord<D> q = c;
        q[axis] = grid_.neighbour(d, c[axis], step);
        if (q[axis] < 0 || !usable(q, by_continued)) continue;
        change += step * (search_.value(q) - search_.value(c));
        ++found;
      }
      square += found ? change * change / (found * found) : 1.0;
    }
    return std::min(square, 1.0);
  }

  const InterfaceSearch<T, D>& search_;
  const StripGrid<D>& grid_;
  const VisibleAt<D, Visibility>& visible_;
  bool at_sides_;
};

}  // namespace meniscus::surface
