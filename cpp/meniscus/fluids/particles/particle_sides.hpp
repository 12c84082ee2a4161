/// Sides of thin walls on which particles are: a cell has to do with those alone that are on the side of its centre.
///
/// A particle belongs to the cell whose centre it sees: its own, or, where a wall hides that one, the nearest of those around.
/// From one cell to another a particle is seen along monotone ways through faces that no wall blocks.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/particles/cell_neighbors.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace meniscus::fluids {

/// For a grid of one block, whose cells are the window.
template <int D>
class ParticleSides {
 public:
  static constexpr int around = D == 2 ? 9 : 27;
  static constexpr std::uint8_t own = around / 2, none = 255;

  ParticleSides(const grid::ThinWalls<D>& walls, const grid::CellParticles<D>& particles, Index count, Workspace& workspace)
      : walls_(walls), homes_(workspace.take<std::uint8_t>(count)), held_(workspace.take<std::uint8_t>(cells())) {
    parallel_for(0, count, 256, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) homes_.data()[i] = home_of(particles.positions + i * D);
    });
    std::fill_n(held_.data(), cells(), std::uint8_t{0});
    for (Index i = 0; i < count; ++i) {
      if (home(i) == none) continue;
      const Coord<D> offset = offset_of(home(i));
      Index number = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const Index n = grid().shape()[d];
        const Index c = std::min(static_cast<Index>(particles.positions[i * D + static_cast<Index>(d)]), n - 1) + offset[d];
        number = number * n + grid::mirrored_cell(grid(), static_cast<int>(d), c).cell;
      }
      held_.data()[number] = 1;
    }
  }

  const grid::Grid<D>& grid() const { return walls_.grid(); }
  const grid::ThinWalls<D>& walls() const { return walls_; }
  /// The cell around its own to which a particle belongs: a number for `offset_of`, or `none`.
  std::uint8_t home(Index i) const { return homes_.data()[i]; }
  static Coord<D> offset_of(int home) { return grid::block_offset<D>(home); }
  /// Whether particles belong to a cell; by its number in C order.
  bool holds(Index number) const { return held_.data()[number] != 0; }

  /// Whether no wall is between a cell, which may be beyond a side, and the next one along an axis.
  bool open(const Coord<D>& from, int axis, Index step) const {
    const Index a = axis;
    Coord<D> c;
    for (std::size_t d = 0; d < D; ++d) c[d] = grid::mirrored_cell(grid(), static_cast<int>(d), from[d]).cell;
    return open_between(c, axis, grid::mirrored_cell(grid(), axis, from[a] + step).cell);
  }
  /// The same for a cell of the domain and the place of the next one, or of its image, along the axis.
  bool open_between(const Coord<D>& c, int axis, Index next) const {
    const Index a = axis;
    Index number = 0;
    for (std::size_t d = 0; d < D; ++d) number = number * grid().shape()[d] + c[d];
    // Faces of cells that no wall comes near are open, and so is a side that mirrors.
    if (walls_.clearance()[number] != 0 || next == c[a]) return true;
    Coord<D> face = c;
    face[a] = std::abs(next - c[a]) == 1 ? std::max(next, c[a]) : 0;
    return !walls_.blocked(axis, face, nullptr);
  }

 private:
  Index cells() const { return product<D>(grid().shape()); }

  std::uint8_t home_of(const double* at) const {
    Vec<double, D> x, low;
    for (int d = 0; d < D; ++d) {
      const auto n = static_cast<double>(grid().shape()[d]);
      x[d] = grid().origin()[d] + grid().spacing() * at[d];
      low[d] = grid().origin()[d] + grid().spacing() * (std::min(std::floor(at[d]), n - 1) + 0.5);
    }
    if (walls_.clearance(low) > 0) return own;
    std::array<Vec<double, D>, around> centers;
    for (int k = 0; k < around; ++k) {
      const Coord<D> o = offset_of(k);
      for (int d = 0; d < D; ++d) centers[k][d] = low[d] + grid().spacing() * static_cast<double>(o[d]);
    }
    if (walls_.hidden(x, &centers[own], 1, nullptr) == 0) return own;
    const std::uint32_t hidden = walls_.hidden(x, centers.data(), around, nullptr);
    std::uint8_t best = none;
    double nearest = std::numeric_limits<double>::infinity();
    for (int k = 0; k < around; ++k) {
      const double r = (centers[k] - x).norm();
      if (((hidden >> k) & 1u) || !within(low, k) || !(r < nearest)) continue;
      nearest = r;
      best = static_cast<std::uint8_t>(k);
    }
    return best;
  }

  /// Whether a cell around the one with this centre is in the domain, or an image of one that is.
  bool within(const Vec<double, D>& center, int k) const {
    const Coord<D> o = offset_of(k);
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      const Index c = static_cast<Index>(std::floor((center[d] - grid().origin()[d]) / grid().spacing())) + o[a];
      if (grid::image_of_cell<D>(grid(), d, c) < 0) return false;
    }
    return true;
  }

  const grid::ThinWalls<D>& walls_;
  Workspace::Lease<std::uint8_t> homes_, held_;
};

/// What the centre of one cell sees of the particles within some cells.
template <int D>
class CellSight {
 public:
  static constexpr Index most = 4;

  /// `sides`: nullptr where there are no walls; then all is seen.
  CellSight(const ParticleSides<D>* sides, const Coord<D>& cell, Index reach) : sides_(sides), cell_(cell), reach_(reach) {
    if (!sides) return;
    Index number = 0;
    for (std::size_t d = 0; d < D; ++d) number = number * sides->grid().shape()[d] + cell[d];
    if (static_cast<Index>(sides->walls().clearance()[number]) > reach) sides_ = nullptr;
    if (sides_) find();
  }

  bool sees_all() const { return !sides_; }
  /// Particle i, whose image is at x (cells); axes with a negative scale are mirrored.
  bool sees(Index i, const std::array<double, D>& x, const std::array<double, D>& scale) const {
    if (!sides_) return true;
    const std::uint8_t home = sides_->home(i);
    if (home == ParticleSides<D>::none) return false;
    const Coord<D> offset = ParticleSides<D>::offset_of(home);
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const double own = scale[d] < 0 ? std::ceil(x[d]) - 1 : std::floor(x[d]);
      const Index o = static_cast<Index>(own) - cell_[d] + (scale[d] < 0 ? -offset[d] : offset[d]);
      if (std::abs(o) > reach_) return false;
      at = at * (2 * most + 1) + o + most;
    }
    return seen_[at];
  }

  /// The cell at an offset of at most the reach.
  bool sees(const Coord<D>& offset) const {
    if (!sides_) return true;
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) at = at * (2 * most + 1) + offset[d] + most;
    return seen_[at];
  }

 private:
  void find() {
    const Index side = 2 * reach_ + 1;
    Index count = 1;
    for (int d = 0; d < D; ++d) count *= side;
    std::array<std::array<Index, 2 * most + 1>, D> images;
    for (std::size_t d = 0; d < D; ++d)
      for (Index o = -reach_; o <= reach_; ++o)
        images[d][o + most] = grid::mirrored_cell(sides_->grid(), static_cast<int>(d), cell_[d] + o).cell;
    for (Index k = 0; k < count; ++k) {
      // Nearer cells come first along each axis: 0, -1, 1, -2, 2, ...
      Coord<D> o, at;
      Index rest = k, place = 0;
      for (int d = D - 1; d >= 0; --d, rest /= side) {
        const Index q = rest % side;
        o[d] = q % 2 ? -(q + 1) / 2 : q / 2;
      }
      for (std::size_t d = 0; d < D; ++d) {
        at[d] = images[d][o[d] + most];
        place = place * (2 * most + 1) + o[d] + most;
      }
      bool seen = k == 0;
      Index stride = 1;
      for (int d = D - 1; d >= 0 && !seen; --d, stride *= 2 * most + 1) {
        const Index a = d;
        const Index step = o[a] > 0 ? 1 : -1;
        if (o[a] == 0 || !seen_[place - step * stride]) continue;
        seen = sides_->open_between(at, d, images[a][o[a] - step + most]);
      }
      seen_[place] = seen;
    }
  }

  const ParticleSides<D>* sides_;
  Coord<D> cell_;
  Index reach_;
  std::array<bool, D == 2 ? 81 : 729> seen_;
};

}  // namespace meniscus::fluids
