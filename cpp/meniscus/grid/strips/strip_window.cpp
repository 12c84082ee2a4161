#include "meniscus/grid/strips/strip_window.hpp"

#include "meniscus/parallel/reductions.hpp"

namespace meniscus::grid {

template <int D>
StripWindow<D>::StripWindow(const FieldLayout<D>& layout, const StripGrid<D>& grid)
    : grid_(grid),
      to_windows_(*layout.grid.communicator(), grid.block, grid.window.from(grid.shift), grid.periods()),
      to_blocks_(*layout.grid.communicator(), grid.own.from(grid.shift), grid.block, {}) {
  for (int d = 0; d < D; ++d) {
    first_owned_[d] = layout.halo.first_owned(d);
    own_in_window_[d] = grid.own.begin[d] - grid.window.begin[d];
  }
}

template <int D>
StripExchange<D>::StripExchange(const Grid<D>& domain, const StripGrid<D>& grid) : communicator_(*domain.communicator()) {
  if (!grid.cut) return;
  // Boxes of strips: rows along the first axes, numbers of strips along the last.
  Coord<D> shift = grid.shift, period = grid.periods();
  shift[D - 1] = grid.strip_shift_;
  if (period[D - 1] > 0) period[D - 1] = grid.domain_strips;
  parallel::IndexBox<D> own = grid.own, stored;
  own.begin[D - 1] = grid.strip_begin + grid.own_begin;
  own.end[D - 1] = grid.strip_begin + grid.own_end;
  for (std::size_t d = 0; d < D; ++d) {
    stored.begin[d] = d < D - 1 ? grid.row_begin[d] : grid.strip_begin;
    stored.end[d] = stored.begin[d] + (d < D - 1 ? grid.row_extent[d] : grid.row_strips);
  }
  strides_ = c_strides<D>(stored.extents());
  for (std::size_t d = 0; d < D; ++d) own_ += (own.begin[d] - stored.begin[d]) * strides_[d];
  exchange_.emplace(communicator_, own.from(shift), stored.from(shift), period, true);
}

template <int D>
bool StripExchange<D>::any(bool own) const {
  return exchange_ ? parallel::global_any(communicator_, own) : own;
}

template class StripWindow<2>;
template class StripWindow<3>;
template class StripExchange<2>;
template class StripExchange<3>;

}  // namespace meniscus::grid
