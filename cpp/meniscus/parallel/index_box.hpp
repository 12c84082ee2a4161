/// Boxes of samples in coordinates of the whole domain: what a block owns, and windows around that.
#pragma once

#include "meniscus/parallel/domain_block.hpp"

#include <algorithm>

namespace meniscus::parallel {

/// Samples [begin, end) per axis; empty where end <= begin along any axis.
template <int D>
struct IndexBox {
  Coord<D> begin{}, end{};

  bool empty() const {
    for (std::size_t d = 0; d < D; ++d)
      if (end[d] <= begin[d]) return true;
    return false;
  }
  Coord<D> extents() const {
    Coord<D> n;
    for (std::size_t d = 0; d < D; ++d) n[d] = end[d] > begin[d] ? end[d] - begin[d] : 0;
    return n;
  }
  IndexBox intersection(const IndexBox& o) const {
    IndexBox b;
    for (std::size_t d = 0; d < D; ++d) {
      b.begin[d] = begin[d] > o.begin[d] ? begin[d] : o.begin[d];
      b.end[d] = end[d] < o.end[d] ? end[d] : o.end[d];
    }
    return b;
  }
  /// The same samples, counted from another one.
  IndexBox from(const Coord<D>& origin) const {
    IndexBox b;
    for (std::size_t d = 0; d < D; ++d) {
      b.begin[d] = begin[d] - origin[d];
      b.end[d] = end[d] - origin[d];
    }
    return b;
  }
};

/// Cells around periodic axes, 0 for others.
template <int D>
Coord<D> periods(const DomainBlock<D>& block) {
  Coord<D> p{};
  for (std::size_t d = 0; d < D; ++d) p[d] = block.periodic[d] ? block.domain[d] : 0;
  return p;
}

/// The samples of an array that a block owns; they lie per axis in the cells (0) or on their sides (1). Two blocks share the
/// samples on the side between them; the lower block owns them.
template <int D>
IndexBox<D> owned_samples(const DomainBlock<D>& block, const std::array<int, D>& on_side) {
  IndexBox<D> box;
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    box.begin[d] = block.first[d] + (on_side[d] && block.shared(axis, 0) ? 1 : 0);
    box.end[d] = block.first[d] + block.shape[d] + on_side[d];
  }
  return box;
}

/// A box of samples of a block with `width` layers more along the axes that are cut, as far as the domain goes; around periodic
/// axes there is no end.
template <int D>
IndexBox<D> widened(IndexBox<D> box, const DomainBlock<D>& block, const std::array<int, D>& on_side, Index width) {
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    if (!block.cut(axis)) continue;
    box.begin[d] -= width;
    box.end[d] += width;
    if (block.periodic[d]) continue;
    box.begin[d] = std::max<Index>(box.begin[d], 0);
    box.end[d] = std::min(box.end[d], block.domain[d] + on_side[d]);
  }
  return box;
}

}  // namespace meniscus::parallel
