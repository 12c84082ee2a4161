#include "meniscus/grid/strips/strip_grid.hpp"

namespace meniscus::grid {

template <int D>
StripGrid<D>::StripGrid(const FieldLayout<D>& layout) {
  const parallel::DomainBlock<D>& part = layout.grid.block();
  cut = part.cut();
  for (std::size_t d = 0; d < D; ++d) {
    const int on_side = layout.stagger.on_side[d];
    const Index first_owned = layout.halo.first_owned(static_cast<int>(d));
    closed_[d] = part.periodic[d];
    count[d] = part.domain[d] + (closed_[d] ? 0 : on_side);
    block.begin[d] = part.first[d] + first_owned - (closed_[d] ? on_side : 0);
    block.end[d] = block.begin[d] + layout.extents()[d] - first_owned;
    first[d] = first_owned;
    extents[d] = layout.extents()[d];
    ring_[d] = closed_[d];
  }
  domain_strips = (count[D - 1] + strip_lanes - 1) / strip_lanes;
  row_strips = own_end = domain_strips;
  for (std::size_t d = 0; d < D; ++d) {
    own.end[d] = window.end[d] = row_extent[d] = count[d];
    const Index n = d < D - 1 ? count[d] : domain_strips;
    // A ring of odd length cannot be painted in two colours.
    if (closed_[d] && n % 2 == 1 && n > 1) colours = 3;
  }
  if (cut) take_part();
  for (std::size_t d = 0; d + 1 < D; ++d) rows *= row_extent[d];
}

/// The part of this block. Where it has all strips along an axis, it needs no ghosts there.
template <int D>
void StripGrid<D>::take_part() {
  const auto strip_after = [](Index i) { return (i + strip_lanes - 1) / strip_lanes; };
  own = block;
  Index begin = strip_after(own.begin[D - 1]), end = strip_after(own.end[D - 1]);
  own.begin[D - 1] = begin * strip_lanes;
  own.end[D - 1] = std::min(end * strip_lanes, count[D - 1]);
  if (own.empty()) {
    own = window = {};
    extents = row_extent = first = {};
    row_strips = own_end = 0;
    return;
  }
  for (std::size_t d = 0; d < D; ++d) {
    if (own.begin[d] == 0 && own.end[d] == count[d]) {
      window.begin[d] = first[d] = 0;
      window.end[d] = extents[d] = count[d];
      continue;
    }
    ring_[d] = false;
    const Index periods = closed_[d] ? 1 + (strip_lanes + window_margin) / count[d] : 0;
    shift[d] = periods * count[d];
    own.begin[d] += shift[d];
    own.end[d] += shift[d];
    const auto widened = [&](Index i, Index n) { return closed_[d] ? i : std::clamp<Index>(i, 0, n); };
    window.begin[d] = widened(own.begin[d] - window_margin, count[d]);
    window.end[d] = widened(own.end[d] + window_margin, count[d]);
    first[d] = -window.begin[d];
    extents[d] = window.end[d] - window.begin[d];
    if (d < D - 1) {
      row_begin[d] = widened(own.begin[d] - 1, count[d]);
      row_extent[d] = widened(own.end[d] + 1, count[d]) - row_begin[d];
    } else {
      numbered_ = true;
      strip_shift_ = periods * domain_strips;
      begin += strip_shift_;
      end += strip_shift_;
      strip_begin = widened(begin - 1, domain_strips);
      row_strips = widened(end + 1, domain_strips) - strip_begin;
      own_begin = begin - strip_begin;
      own_end = end - strip_begin;
    }
  }
}

template struct StripGrid<2>;
template struct StripGrid<3>;

}  // namespace meniscus::grid
