#include "meniscus/grid/blocks/block_window.hpp"

namespace meniscus::grid {

template <class V, int D>
BlockWindow<V, D>::BlockWindow(const Grid<D>& grid, const Stagger<D>& stagger, const V* own, const Coord<D>& strides, Index width)
    : origin_(own), strides_(strides), end_(stagger.extents(grid.local_shape())) {
  const parallel::DomainBlock<D>& block = grid.block();
  for (std::size_t d = 0; d < D; ++d) period_[d] = block.periodic[d] ? block.domain[d] : 0;
  if (!block.cut() || width <= 0) return;
  const Coord<D> samples = stagger.extents(block.domain);
  parallel::IndexBox<D> owned, window;
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    owned.begin[d] = block.first[d] + (stagger.on_side[d] && block.shared(axis, 0) ? 1 : 0);
    owned.end[d] = block.first[d] + end_[d];
    // The copy of a sample on a shared side is in the window with the others.
    begin_[d] = block.first[d];
    if (block.cut(axis)) {
      begin_[d] -= width;
      end_[d] += width;
    }
    end_[d] += block.first[d];
    if (!block.periodic[d]) {
      begin_[d] = std::max<Index>(begin_[d], 0);
      end_[d] = std::min(end_[d], samples[d]);
    } else if (end_[d] - begin_[d] > samples[d]) {
      begin_[d] = block.first[d];
      end_[d] = begin_[d] + samples[d];
    }
    window.begin[d] = begin_[d];
    window.end[d] = end_[d];
  }
  parallel::BoxExchange<D> exchange(*grid.communicator(), owned, window, period_);
  values_.resize(product<D>(window.extents()));
  strides_ = c_strides<D>(window.extents());
  Index first = 0;
  Index to_owned = 0;
  for (std::size_t d = 0; d < D; ++d) {
    to_owned += (owned.begin[d] - block.first[d]) * strides[d];
    first += (block.first[d] - begin_[d]) * strides_[d];
    begin_[d] -= block.first[d];
    end_[d] -= block.first[d];
  }
  exchange.fetch(own + to_owned, strides, values_.data(), strides_);
  origin_ = values_.data() + first;
}

#define MENISCUS_INSTANTIATE(V)     \
  template class BlockWindow<V, 2>; \
  template class BlockWindow<V, 3>;
MENISCUS_INSTANTIATE(std::uint8_t)
MENISCUS_INSTANTIATE(std::int32_t)
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
