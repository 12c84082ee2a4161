/// Common base of the parts of a coarsening: the blocks, their children, and loops over the rows of blocks that have changed.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/poisson_coarsening.hpp"

#include <limits>

namespace meniscus::grid {

/// Blocks that a loop over bytes treats at once.
inline constexpr Index piece_blocks = 128;

/// Coefficients that differ by less than this are smooth enough for interpolation with fixed weights.
inline constexpr float smooth_ratio = 4;

/// The smallest and the largest of some coefficients.
struct CoefficientRange {
  float low = std::numeric_limits<float>::max();
  float high = 0;
  void add(float w) {
    low = std::min(low, w);
    high = std::max(high, w);
  }
  bool smooth() const { return low > 0 && high <= smooth_ratio * low; }
};

template <int D>
class BlockRows {
 protected:
  static constexpr int children = BlockGeometry<D>::children;

  BlockRows(const FaceMatrix<float, D>& fine, CellJoining<D>& joining)
      : fine_(fine), geometry_(fine.layout), owner_(joining.owner), state_(joining.state), links_(joining.links) {
    for (int c = 0; c < children; ++c)
      for (int d = 0; d < D; ++d)
        if ((c >> d) & 1) offset_[c] += fine_.layout.strides[d];
  }

  /// Calls body(index of the first block, its coordinate) for the rows of blocks that have changed, in parallel.
  template <class Body>
  void for_each_row(Body&& body) const {
    const CellLayout<D>& coarse = geometry_.coarse;
    parallel_for(0, coarse.rows(), std::max<Index>(1, 2048 / coarse.cells[D - 1]), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r)
        if ((*rows_)[r]) body(coarse.row(r), coarse.row_coordinate(r));
    });
  }

  /// Whether both rows of fine cells along every other axis exist.
  bool whole_row(const Coord<D>& block) const {
    bool whole = geometry_.halved[D - 1];
    for (std::size_t d = 0; d + 1 < D; ++d) whole &= geometry_.halved[d] && 2 * block[d] + 1 < fine_.layout.cells[d];
    return whole;
  }

  const FaceMatrix<float, D>& fine_;
  BlockGeometry<D> geometry_;
  /// From the first cell of a block to its children.
  std::array<Index, static_cast<std::size_t>(children)> offset_{};
  Block<std::uint8_t>& owner_;
  Block<std::uint8_t>& state_;
  Block<std::uint8_t>& links_;
  const RowChanges<D>* rows_ = nullptr;
};

}  // namespace meniscus::grid
