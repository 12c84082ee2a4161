#include "meniscus/grid/blocks/far_samples.hpp"

#include <algorithm>

namespace meniscus::grid {

template <int D>
void FarSamples<D>::plan(const FieldLayout<D>& layout, Index width) {
  const parallel::DomainBlock<D>& block = layout.grid.block();
  const Coord<D> samples = layout.stagger.extents(block.domain);
  for (int axis = 0; axis < D; ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    own_.begin[d] = block.first[d] + layout.halo.first_owned(axis);
    own_.end[d] = block.first[d] + layout.extents()[d];
    period_[d] = block.periodic[d] ? block.domain[d] : 0;
    window_.begin[d] = own_.begin[d];
    window_.end[d] = own_.end[d];
    if (!block.cut(axis)) continue;
    if (!block.periodic[d]) {
      window_.begin[d] = std::max<Index>(own_.begin[d] - width, 0);
      window_.end[d] = std::min(own_.end[d] + width, samples[d]);
    } else if (own_.end[d] - own_.begin[d] + 2 * width < period_[d]) {
      window_.begin[d] -= width;
      window_.end[d] += width;
    } else {
      window_.end[d] = window_.begin[d] + period_[d];
    }
  }
  strides_ = c_strides<D>(window_.extents());
  exchange_.emplace(*layout.grid.communicator(), own_, window_, period_, true);
  width_ = width;
}

template <int D>
template <class T>
void FarSamples<D>::fetch(const FieldLayout<D>& layout, const T* first, Index width) {
  if (!layout.grid.block().cut() || width <= ghost_width) {
    values_.clear();
    return;
  }
  if (!exchange_ || width != width_) plan(layout, width);
  values_.assign(static_cast<std::size_t>(product<D>(window_.extents())), 0.0);
  const FieldView<const T, D> view = layout.view(first);
  const Coord<D> n = own_.extents();
  Index to_first = 0;
  for (std::size_t d = 0; d < D; ++d) to_first += (own_.begin[d] - window_.begin[d]) * strides_[d];
  for (Index r = 0; r < product<D>(n) / n[D - 1]; ++r) {
    Coord<D> c{};
    Index rest = r, to = to_first;
    for (std::size_t d = D - 1; d-- > 0; rest /= n[d]) c[d] = rest % n[d];
    for (std::size_t d = 0; d < D; ++d) {
      to += c[d] * strides_[d];
      c[d] += own_.begin[d] - layout.grid.first_cell()[d];
    }
    const T* from = view.at(c);
    for (Index k = 0; k < n[D - 1]; ++k) values_[static_cast<std::size_t>(to + k)] = static_cast<double>(from[k]);
  }
  exchange_->fetch(values_.data() + to_first, strides_, values_.data(), strides_);
}

#define MENISCUS_INSTANTIATE(D)                                                          \
  template class FarSamples<D>;                                                          \
  template void FarSamples<D>::fetch<float>(const FieldLayout<D>&, const float*, Index); \
  template void FarSamples<D>::fetch<double>(const FieldLayout<D>&, const double*, Index);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
