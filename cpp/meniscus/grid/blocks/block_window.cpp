#include "meniscus/grid/blocks/block_window.hpp"

#include <cstring>

namespace meniscus::grid {

template <class V, int D>
void BlockWindow<V, D>::plan(const Grid<D>& grid, const Stagger<D>& stagger, Index width) {
  const parallel::DomainBlock<D>& block = grid.block();
  const parallel::IndexBox<D> own = parallel::owned_samples<D>(block, stagger.on_side);
  parallel::IndexBox<D> window = own;
  // The copy of a sample on a shared side is beyond the block with the others.
  for (int axis = 0; axis < D; ++axis)
    if (block.cut(axis)) window.begin[axis] = block.first[axis];
  window = parallel::widened<D>(window, block, stagger.on_side, width);
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    if (!block.periodic[d] || !block.cut(axis) || window.end[d] - window.begin[d] < period_[d]) continue;
    window.begin[d] = own.begin[d];
    window.end[d] = own.begin[d] + period_[d];
  }
  exchange_.emplace(*grid.communicator(), own, window, period_, true);
  own_ = own.from(block.first);
  window_ = window.from(block.first);
  Index size = 0;
  for (std::size_t s = 0; s < slabs_.size(); ++s) {
    const std::size_t axis = s / 2;
    parallel::IndexBox<D> box = own_;
    for (std::size_t d = 0; d < axis; ++d) {
      box.begin[d] = window_.begin[d];
      box.end[d] = window_.end[d];
    }
    box.begin[axis] = s % 2 ? own_.end[axis] : window_.begin[axis];
    box.end[axis] = s % 2 ? window_.end[axis] : own_.begin[axis];
    slabs_[s] = {box.begin, c_strides<D>(box.extents()), size};
    size += product<D>(box.extents());
  }
  beyond_.resize(size);
  width_ = width;
}

template <class V, int D>
template <class T>
void BlockWindow<V, D>::fetch(const Grid<D>& grid, const Stagger<D>& stagger, const T* own, const Coord<D>& strides,
                              Index width) {
  if constexpr (std::is_same_v<T, V>) origin_ = own;
  strides_ = strides;
  period_ = parallel::periods<D>(grid.block());
  if (!grid.block().cut() || width <= 0) {
    own_ = window_ = {{}, stagger.extents(grid.local_shape())};
    beyond_.clear();
    exchange_.reset();
    return;
  }
  if (!exchange_ || width != width_) plan(grid, stagger, width);
  // Blocks are cut by planes through the domain, so that what one of them owns lies in one slab.
  exchange_->fetch_rows(own + dot<D>(own_.begin, strides), strides, [&](Coord<D> c, Index count, const std::byte* samples) {
    for (std::size_t d = 0; d < D; ++d) c[d] -= grid.first_cell()[d];
    V* const to = beyond_.data() + place_of(c);
    for (Index k = 0; k < count; ++k) {
      T value;
      std::memcpy(&value, samples + k * static_cast<Index>(sizeof(T)), sizeof(T));
      to[k] = static_cast<V>(value);
    }
  });
}

#define MENISCUS_INSTANTIATE(T, V, D) \
  template void BlockWindow<V, D>::fetch<T>(const Grid<D>&, const Stagger<D>&, const T*, const Coord<D>&, Index);
MENISCUS_INSTANTIATE(std::uint8_t, std::uint8_t, 2)
MENISCUS_INSTANTIATE(std::uint8_t, std::uint8_t, 3)
MENISCUS_INSTANTIATE(std::int32_t, std::int32_t, 2)
MENISCUS_INSTANTIATE(std::int32_t, std::int32_t, 3)
MENISCUS_INSTANTIATE(float, float, 3)
MENISCUS_INSTANTIATE(float, double, 3)
MENISCUS_INSTANTIATE(double, double, 2)
MENISCUS_INSTANTIATE(double, double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
