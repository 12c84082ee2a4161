/// Multilinear stencil: the 2^D samples of a field around a point, and their weights.
#pragma once

#include "meniscus/grid/particles/cell_location.hpp"

#include <algorithm>

namespace meniscus::grid {

/// Corner q of the stencil is the upper one along axis d where bit d of q is set. Weights have the scalar type T.
template <class T, int D>
struct MultilinearStencil {
  static constexpr int corners = 1 << D;

  /// Global index of the lowest sample.
  Coord<D> lower;
  /// Weight of the upper samples along each axis; that of the lower ones is 1 less this.
  std::array<T, D> upper;

  /// Samples with the given stagger. In the half cell beside a side, the outermost sample of a field on centres is a ghost.
  MENISCUS_INLINE MultilinearStencil(const CellLocation<D>& at, const Stagger<D>& stagger) {
    for (std::size_t d = 0; d < D; ++d) {
      const bool below = !stagger.on_side[d] && at.offset[d] < 0.5;
      lower[d] = at.cell[d] - below;
      upper[d] = static_cast<T>(stagger.on_side[d] ? at.offset[d] : below ? at.offset[d] + 0.5 : at.offset[d] - 0.5);
    }
  }

  /// The same without ghosts at sides that are not periodic: there the outermost sample has the whole weight, and the other one
  /// is still inside of the domain.
  static MENISCUS_INLINE MultilinearStencil inside(const Grid<D>& grid, const CellLocation<D>& at, const Stagger<D>& stagger) {
    MultilinearStencil s(at, stagger);
    for (std::size_t d = 0; d < D; ++d) {
      if (stagger.on_side[d] || grid.periodic()[d]) continue;
      const Index last = grid.shape()[d] - 1;
      if (s.lower[d] < 0) {
        s.lower[d] = 0;
        s.upper[d] = T(0);
      } else if (s.lower[d] >= last && last > 0) {
        s.lower[d] = last - 1;
        s.upper[d] = T(1);
      } else if (last == 0) {
        s.upper[d] = T(0);
      }
    }
    return s;
  }

  /// The same without ghosts, where a field on centres goes on beyond the outermost ones with its slope.
  static MENISCUS_INLINE MultilinearStencil extrapolating(const Grid<D>& grid, const CellLocation<D>& at,
                                                          const Stagger<D>& stagger) {
    MultilinearStencil s(at, stagger);
    for (std::size_t d = 0; d < D; ++d) {
      const Index last = grid.shape()[d] - 1;
      if (last == 0 || grid.periodic()[d]) continue;
      const Index inner = std::clamp(s.lower[d], Index{0}, last - 1);
      s.upper[d] += static_cast<T>(s.lower[d] - inner);
      s.lower[d] = inner;
    }
    return s;
  }

  MENISCUS_INLINE T weight(int corner) const {
    T w = 1;
    for (std::size_t d = 0; d < D; ++d) w *= ((corner >> d) & 1) ? upper[d] : T(1) - upper[d];
    return w;
  }

  /// Distance in memory from the lowest sample to a corner.
  static MENISCUS_INLINE Index offset(int corner, const Coord<D>& strides) {
    Index offset = 0;
    for (std::size_t d = 0; d < D; ++d) offset += ((corner >> d) & 1) ? strides[d] : 0;
    return offset;
  }

  MENISCUS_INLINE Coord<D> sample(int corner) const {
    Coord<D> c = lower;
    for (std::size_t d = 0; d < D; ++d) c[d] += (corner >> d) & 1;
    return c;
  }
};

}  // namespace meniscus::grid
