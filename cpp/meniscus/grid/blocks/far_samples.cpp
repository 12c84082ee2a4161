#include "meniscus/grid/blocks/far_samples.hpp"

#include <algorithm>
#include <cstring>

namespace meniscus::grid {

template <int D>
void FarSamples<D>::plan(const FieldLayout<D>& layout, Index width) {
  const parallel::DomainBlock<D>& block = layout.grid.block();
  const Coord<D> samples = layout.stagger.extents(block.domain);
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    own_.begin[d] = block.first[d] + layout.halo.first_owned(axis);
    own_.end[d] = block.first[d] + layout.extents()[d];
    period_[d] = block.periodic[d] ? block.domain[d] : 0;
    window_.begin[d] = own_.begin[d];
    window_.end[d] = own_.end[d];
    if (!block.cut(axis)) continue;
    // The block computes its copy of a sample on a shared side too.
    const Index first = block.first[d];
    if (!block.periodic[d]) {
      window_.begin[d] = std::max<Index>(first - width, 0);
      window_.end[d] = std::min(own_.end[d] + width, samples[d]);
    } else if (own_.end[d] - first + 2 * width < period_[d]) {
      window_.begin[d] = first - width;
      window_.end[d] += width;
    } else {
      window_.end[d] = window_.begin[d] + period_[d];
    }
  }
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
  values_.resize(size);
  exchange_.emplace(*layout.grid.communicator(), own_, window_, period_, true);
  width_ = width;
}

template <int D>
template <class T>
void FarSamples<D>::fetch(const FieldLayout<D>& layout, const T* first, Index width) {
  if (!layout.grid.block().cut() || width <= ghost_width) {
    values_.clear();
    width_ = 0;
    return;
  }
  if (!exchange_ || width != width_) plan(layout, width);
  const FieldView<const T, D> view = layout.view(first);
  Coord<D> begin = own_.begin;
  for (std::size_t d = 0; d < D; ++d) begin[d] -= layout.grid.first_cell()[d];
  // Blocks are cut by planes through the domain, so that what one of them owns lies in one slab.
  exchange_->fetch_rows(view.at(begin), view.strides, [&](const Coord<D>& c, Index count, const std::byte* samples) {
    double* to = values_.data() + place_of(c);
    for (Index k = 0; k < count; ++k) {
      T value;
      std::memcpy(&value, samples + k * static_cast<Index>(sizeof(T)), sizeof(T));
      to[k] = static_cast<double>(value);
    }
  });
}

#define MENISCUS_INSTANTIATE(D)                                                          \
  template class FarSamples<D>;                                                          \
  template void FarSamples<D>::fetch<float>(const FieldLayout<D>&, const float*, Index); \
  template void FarSamples<D>::fetch<double>(const FieldLayout<D>&, const double*, Index);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
