/// Tiles of shallow water: which hold water, how fast it is, and which are worked on.
#pragma once

#include "meniscus/fluids/shallow/shallow_model.hpp"

#include <vector>

namespace meniscus::fluids {

/// Cells of a tile along a row, and rows; what a tile keeps of its rows fits into the first cache.
inline constexpr Index tile_columns = 64;
inline constexpr Index tile_rows = 32;

/// Numbers of a row of cells or faces of a tile, with one cell more at each end.
template <class T>
using TileRow = T[tile_columns + 8];

struct ShallowTile {
  Index i = 0, j = 0, rows = 0, columns = 0;
  double volume = 0;                        ///< sum of depths, m
  double kinetic = 0;                       ///< sum of depth times half of the square of the speed
  double damped = 0;                        ///< sum of the depths that damping has taken
  std::array<double, 4> left{};             ///< sums of the discharges out of the sides, m^2/s
  double fast_u = 0, fast_v = 0, wave = 0;  ///< largest components of velocity, fastest waves, m/s
  double outflow = 0;                       ///< largest sum of the velocities out of a cell, m/s
  bool wet = false, active = false, cleared = true, sound = true;
};

template <class T>
T largest_of(const T* values, Index n) {
  T most = T(0);
  for (Index j = 0; j < n; ++j) most = std::max(most, values[j]);
  return most;
}

template <class T>
double sum_of(const T* values, Index n) {
  double sum = 0;
  for (Index j = 0; j < n; ++j) sum += values[j];
  return sum;
}

class ShallowTiles {
 public:
  explicit ShallowTiles(const ShallowLayout& layout);

  /// Measures the water of all tiles; returns the sum of depths. Throws InvalidArgument for a depth or velocity that is not
  /// finite, or a negative depth, and names the cell.
  template <class T>
  double measure(const ShallowModel<T>& model, const ShallowFields<T>& water);

  /// Chooses the tiles with water, beside some, or at sides that may let some in. In all others `scratch` becomes the water, at
  /// rest.
  template <class T>
  void choose(const ShallowModel<T>& model, const ShallowFields<T>& water, ShallowFields<T>& scratch);

  /// Sums over all tiles.
  void add_to(ShallowSums& sums, double area) const;

  std::vector<ShallowTile>& all() { return tiles_; }
  const std::vector<Index>& active() const { return active_; }

  /// Calls f(tile) for all active tiles, in parallel.
  template <class F>
  void each_active(F&& f);

  /// Largest value of f(tile) over the tiles with water.
  template <class F>
  double largest(F&& f) const {
    double most = 0;
    for (const ShallowTile& tile : tiles_)
      if (tile.wet) most = most < f(tile) || f(tile) != f(tile) ? f(tile) : most;
    return most;
  }

 private:
  ShallowLayout layout_;
  std::vector<ShallowTile> tiles_;
  std::vector<Index> active_;
  Index across_ = 0;
};

}  // namespace meniscus::fluids

#include "meniscus/core/parallel.hpp"

namespace meniscus::fluids {

template <class F>
void ShallowTiles::each_active(F&& f) {
  parallel_for(0, static_cast<Index>(active_.size()), 1, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) f(tiles_[active_[t]]);
  });
}

}  // namespace meniscus::fluids
