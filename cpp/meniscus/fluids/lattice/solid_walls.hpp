/// Solids in a lattice: their cells, and the links to them. What only the solid knows (distances, velocities) is asked from
/// outside, for many points at once.
#pragma once

#include "meniscus/fluids/lattice/solid_cells.hpp"
#include "meniscus/fluids/lattice/wall_links.hpp"

namespace meniscus::fluids::lattice {

/// A part of a link in which the wall lies, and the distances at its ends.
struct LinkBracket {
  double low = 0.0, high = 1.0, outside = 1.0, inside = -1.0;
  int last = 0;  ///< the end that moved last: -1 low, 1 high
};

template <class L, class C>
class SolidWalls {
 public:
  static constexpr int D = L::dimension;

  SolidWalls(const CellBox<D>& box, int lanes) : box_(box), cells_(box, lanes) {}

  SolidCells<D>& cells() { return cells_; }
  const SolidCells<D>& cells() const { return cells_; }
  std::vector<WallLink<C>>& links() { return links_; }
  const std::vector<WallLink<C>>& links() const { return links_; }
  /// Sum of the weights of all links, and what walls half-way would add to all of them.
  double weight() const { return weight_; }
  double half_way_flux() const { return flux_; }
  const std::vector<Index>& covered() const { return covered_; }
  const std::vector<Index>& uncovered() const { return uncovered_; }
  Index bytes() const {
    return cells_.bytes() +
           static_cast<Index>(links_.capacity() * sizeof(WallLink<C>) + brackets_.capacity() * sizeof(LinkBracket) +
                              places_.capacity() * sizeof(LinkPlace));
  }

  /// Ends a set of solid cells and finds the links to them, in the order of the solid cells.
  void find_links(const Sides<D>& sides) {
    cells_.finish(sides, covered_, uncovered_);
    links_.clear();
    for (const Index m : cells_.list()) {
      const Coord<D> c = cells_.coordinate(m);
      for (int k = 1; k < L::directions; ++k) {
        Coord<D> n = c;
        bool there = true;
        for (int d = 0; d < D; ++d) {
          n[d] -= L::e[k][d];
          if (n[d] >= 0 && n[d] < box_.cells[d]) continue;
          // What crosses a side as well is left to the side.
          if (sides[2 * d].kind != SideKind::around) there = false;
          n[d] = n[d] < 0 ? box_.cells[d] - 1 : 0;
        }
        const Index cell = box_.index(n);
        if (!there || cells_.solid(cell)) continue;
        WallLink<C> link;
        link.cell = cell;
        link.direction = k;
        links_.push_back(link);
      }
    }
    brackets_.assign(links_.size(), LinkBracket{});
    places_.assign(links_.size(), LinkPlace{});
  }

  /// Points (n, D) on the links, in cells from the lower corner of the box, at a fraction, or at that of each link where it is
  /// negative.
  void points(double fraction, double* out) const {
    auto place = places_.begin();
    for (const auto& link : links_) {
      const Coord<D> c = cells_.coordinate(link.cell);
      const double at = fraction < 0 ? place->fraction : fraction;
      for (int d = 0; d < D; ++d) *out++ = static_cast<double>(c[d]) + 0.5 + at * L::e[link.direction][d];
      ++place;
    }
  }
  /// Takes distances at the fluid ends, or the solid ends.
  void set_ends(const double* distance, bool solid) {
    for (std::size_t i = 0; i < links_.size(); ++i) (solid ? brackets_[i].inside : brackets_[i].outside) = distance[i];
    for (std::size_t i = 0; solid && i < links_.size(); ++i) guess(places_[i], brackets_[i]);
  }
  /// Takes distances at the fractions, and narrows these (regula falsi with halved weights).
  void narrow(const double* distance) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      LinkBracket& b = brackets_[i];
      if (distance[i] > 0) {
        b.low = places_[i].fraction;
        b.outside = distance[i];
        if (b.last < 0) b.inside *= 0.5;
        b.last = -1;
      } else {
        b.high = places_[i].fraction;
        b.inside = distance[i];
        if (b.last > 0) b.outside *= 0.5;
        b.last = 1;
      }
      guess(places_[i], b);
    }
  }
  /// Makes the links ready. `velocities` (n, D), in cells per step, and `owners` may be null.
  void prepare_links(const double* velocities, const std::int32_t* owners, bool interpolated) {
    weight_ = flux_ = 0.0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      auto& link = links_[i];
      auto& place = places_[i];
      if (!interpolated) place.fraction = 0.5;
      place.owner = owners ? owners[i] : 0;
      for (int d = 0; velocities && d < D; ++d) place.velocity[d] = velocities[static_cast<Index>(i) * D + d];
      Index behind = link.cell;
      for (int d = 0; d < D; ++d) behind -= L::e[link.direction][d] * box_.strides[d];
      prepare<L>(link, place, cells_.solid(behind));
      weight_ += L::weight(link.direction);
      flux_ += half_way_push<L>(link.direction, place.velocity);
    }
  }
  /// Force (n, D) that each link gave its solid in the last step, in lattice units.
  void forces(double* out) const {
    for (std::size_t i = 0; i < links_.size(); ++i)
      for (int d = 0; d < D; ++d)
        *out++ = L::e[links_[i].direction][d] * (static_cast<double>(links_[i].left) + static_cast<double>(links_[i].back));
  }

 private:
  static void guess(LinkPlace& place, const LinkBracket& b) {
    const double fall = b.outside - b.inside;
    const double part = fall > 0 ? b.outside / fall : 0.5;
    place.fraction = b.low + (b.high - b.low) * std::clamp(part, 0.0, 1.0);
  }

  CellBox<D> box_;
  SolidCells<D> cells_;
  std::vector<WallLink<C>> links_;
  std::vector<LinkPlace> places_;
  std::vector<LinkBracket> brackets_;
  std::vector<Index> covered_, uncovered_;
  double weight_ = 0.0, flux_ = 0.0;
};

}  // namespace meniscus::fluids::lattice
