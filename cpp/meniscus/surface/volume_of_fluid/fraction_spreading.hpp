/// Liquid beyond the room of a cell, and where it goes.
#pragma once

#include "meniscus/grid/particles/domain_sides.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/volume_of_fluid/liquid_plane.hpp"

namespace meniscus::surface {

/// The largest value of any cell of all blocks, at least 0.
template <int D, class Value>
double largest_of_cells(const grid::Grid<D>& grid, const Value& value) {
  const Coord<D>& extents = grid.local_shape();
  const Index length = extents[D - 1];
  const double own = parallel_reduce(
      Index{0}, product<D>(extents) / length, std::max<Index>(1, 4096 / length), 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for (Index r = begin; r < end; ++r) {
          Coord<D> c = grid::row_start<D>(extents, r);
          for (Index i = 0; i < length; ++i, ++c[D - 1]) most = std::max(most, value(c));
        }
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
  return parallel::global_max(*grid.communicator(), own);
}

/// Gives what a cell holds beyond its room to the neighbours that have some, through open faces; of air, if `air`.
template <int D>
class Spreading {
 public:
  static constexpr double tolerance = 1e-12;

  Spreading(const grid::Grid<D>& grid, const OpenSpace<D>& open, bool air) : grid_(grid), open_(open), sides_(grid), air_(air) {}

  double part(const Fractions<D>& f, const Coord<D>& c) const { return air_ ? 1 - *f.at(c) : *f.at(c); }
  double excess(const Fractions<D>& f, const Coord<D>& c) const { return std::max(0.0, part(f, c) - 1) * open_.cell(c); }
  /// Of the fullest cell.
  double largest_excess(const Fractions<D>& f) const {
    return largest_of_cells<D>(grid_, [&](const Coord<D>& c) { return open_.cell(c) > 0 ? part(f, c) - 1 : 0.0; });
  }

  /// The room of the neighbour of c across a side, as far as its face is open.
  double room(const Fractions<D>& f, const Coord<D>& c, int axis, int upper) const {
    const Index face = c[axis] + upper;
    const Index domain = grid_.shape()[axis], place = grid_.first_cell()[axis] + face;
    if (sides_.stops(axis, 0) && (place <= 0 || place >= domain)) return 0;
    Coord<D> at = c, next = c;
    at[axis] = face;
    next[axis] += upper ? 1 : -1;
    return open_.face(axis, at) * std::max(0.0, 1 - part(f, next)) * open_.cell(next);
  }

  double all_room(const Fractions<D>& f, const Coord<D>& c) const {
    double sum = 0;
    for (int d = 0; d < D; ++d) sum += room(f, c, d, 0) + room(f, c, d, 1);
    return sum;
  }

  /// The fraction of c after all cells have given.
  double after(const Fractions<D>& f, const Coord<D>& c) const {
    const double open = open_.cell(c);
    if (!(open > 0)) return *f.at(c);
    double change = 0;
    if (const double own = excess(f, c); own > tolerance) change -= std::min(own, all_room(f, c));
    for (int d = 0; d < D; ++d)
      for (const int upper : {0, 1}) {
        Coord<D> giver = c;
        giver[d] += upper ? 1 : -1;
        const double given = excess(f, giver);
        if (!(given > tolerance)) continue;
        const double all = all_room(f, giver);
        if (all > 0) change += std::min(given, all) * room(f, giver, d, 1 - upper) / all;
      }
    return *f.at(c) + (air_ ? -change : change) / open;
  }

 private:
  const grid::Grid<D>& grid_;
  const OpenSpace<D>& open_;
  grid::DomainSides<D> sides_;
  bool air_;
};

}  // namespace meniscus::surface
