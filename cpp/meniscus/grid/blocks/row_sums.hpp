/// Sums over the samples of all blocks of a grid, row by row, with the same bits on any blocks.
#pragma once

#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/binned_reductions.hpp"

namespace meniscus::grid {

/// The sum of what terms(first sample, count, out) writes for pieces of the rows of `extents`, of the own block.
template <int D, class Terms>
numerics::BinnedSum sum_of_own_rows(const Coord<D>& extents, Terms&& terms) {
  constexpr Index piece = 128;
  using numerics::BinnedSum;
  const Index length = extents[D - 1];
  return parallel_reduce(
      Index{0}, product<D>(extents) / length, std::max<Index>(1, 8192 / length), BinnedSum(),
      [&](Index begin, Index end) -> BinnedSum {
        numerics::BinnedLanes<static_cast<int>(piece)> lanes;
        simd_dispatch([&] {
          double out[piece];
          for (Index r = begin; r < end; ++r) {
            Coord<D> c = row_start<D>(extents, r);
            for (Index k = 0; k < length; k += piece) {
              c[D - 1] = k;
              const Index count = std::min(piece, length - k);
              terms(c, count, out);
              lanes.add(out, static_cast<int>(count));
            }
          }
        });
        return lanes.total();
      },
      [](BinnedSum a, const BinnedSum& b) {
        a.add(b);
        return a;
      });
}

/// Collective: the same of all blocks.
template <int D, class Terms>
double sum_of_rows(const Grid<D>& grid, const Coord<D>& extents, Terms&& terms) {
  return parallel::global_sum(*grid.communicator(), sum_of_own_rows<D>(extents, terms));
}

}  // namespace meniscus::grid
