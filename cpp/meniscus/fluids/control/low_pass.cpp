#include "meniscus/fluids/control/low_pass.hpp"

#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::fluids {
namespace {

/// A box of samples with `width` more along the axes behind `axis`, as far as the domain goes; around periodic axes that ends in
/// all samples.
template <int D>
parallel::IndexBox<D> grown_behind(const grid::Grid<D>& grid, const grid::Stagger<D>& stagger, parallel::IndexBox<D> box,
                                   int axis, Index width) {
  for (int d = axis + 1; d < D; ++d) {
    const Index a = d, n = grid.shape()[a] + stagger.on_side[a];
    box.begin[a] -= width;
    box.end[a] += width;
    const bool beyond = box.begin[a] < 0 || box.end[a] > n;
    if (beyond && grid::period_of(grid, d) > 0) box.begin[a] = 0, box.end[a] = n;
  }
  return box;
}

template <int D>
class TentPass {
 public:
  TentPass(const grid::Grid<D>& grid, const grid::Stagger<D>& stagger, int axis, Index width)
      : grid_(grid),
        stagger_(stagger),
        axis_(axis),
        reach_(width - 1),
        extents_(stagger.extents(grid.local_shape())),
        padded_(extents_) {
    padded_[axis] += 2 * reach_;
  }

  Index padded_size() const { return product<D>(padded_); }

  /// Collective: replaces values by their sums with the weights width - |j| over the samples j beside them, in the rows of
  /// `needed`; other rows become zero. `padded`: scratch memory.
  void apply(const parallel::IndexBox<D>& needed, double* values, double* padded) const {
    const Index a = axis_;
    const Coord<D> strides = c_strides<D>(extents_);
    const grid::BlockWindow<double, D> window(grid_, stagger_, values, strides, reach_);
    grid::for_each_row<D>(padded_, [&](Coord<D> c, Index i) {
      c[a] -= reach_;
      if (axis_ < D - 1) {
        if (!exists(c[a])) {
          std::fill_n(padded + i, extents_[D - 1], 0.0);
        } else if (c[a] >= 0 && c[a] < extents_[a]) {
          std::copy_n(values + dot<D>(c, strides), extents_[D - 1], padded + i);
        } else {
          for (Index k = 0; k < extents_[D - 1]; ++k, ++c[D - 1]) padded[i + k] = window.at(c);
        }
        return;
      }
      for (Index k = 0; k < padded_[D - 1]; ++k, ++c[D - 1]) padded[i + k] = exists(c[D - 1]) ? window.at(c) : 0.0;
    });
    const Coord<D> padded_strides = c_strides<D>(padded_);
    const Index step = padded_strides[a];
    grid::for_each_row<D>(extents_, [&](const Coord<D>& c, Index i) {
      double* const out = values + i;
      const Index length = extents_[D - 1];
      std::fill_n(out, length, 0.0);
      if (!has_row(needed, c)) return;
      const double* from = padded + dot<D>(c, padded_strides);
      for (Index j = -reach_; j <= reach_; ++j, from += step) {
        const auto weight = static_cast<double>(reach_ + 1 - std::abs(j));
        for (Index k = 0; k < length; ++k) out[k] += weight * from[k];
      }
    });
  }

 private:
  /// Whether sample i along the axis, counted from the first of the block, is one of the domain or an image of one.
  bool exists(Index i) const {
    const Index a = axis_;
    return grid::image_of_sample(grid_, stagger_, axis_, grid_.first_cell()[a] + i) >= 0;
  }
  bool has_row(const parallel::IndexBox<D>& box, const Coord<D>& c) const {
    for (std::size_t d = 0; d + 1 < D; ++d) {
      const Index i = grid_.first_cell()[d] + c[d];
      if (i < box.begin[d] || i >= box.end[d]) return false;
    }
    return true;
  }

  const grid::Grid<D>& grid_;
  grid::Stagger<D> stagger_;
  int axis_;
  Index reach_;
  Coord<D> extents_, padded_;
};

}  // namespace

template <class T, int D>
void find_slow_velocity(const grid::MacField<T, D>& velocity, int axis, const std::uint8_t* counts, Index width,
                        const parallel::IndexBox<D>& wanted, double* slow, Workspace& workspace) {
  const grid::Field<T, D>& component = velocity.component(axis);
  const grid::Grid<D>& grid = velocity.grid();
  const grid::FieldView<const T, D> u = component.view();
  const Coord<D> extents = component.extents();
  const auto weights = workspace.take<double>(product<D>(extents));
  grid::for_each_row<D>(extents, [&](const Coord<D>& c, Index i) {
    const T* row = u.at(c);
    for (Index k = 0; k < extents[D - 1]; ++k) {
      weights.data()[i + k] = counts[i + k] ? 1.0 : 0.0;
      slow[i + k] = counts[i + k] ? static_cast<double>(row[k]) : 0.0;
    }
  });
  for (int d = 0; d < D; ++d) {
    const TentPass<D> pass(grid, component.stagger(), d, width);
    const parallel::IndexBox<D> needed = grown_behind(grid, component.stagger(), wanted, d, width - 1);
    const auto padded = workspace.take<double>(pass.padded_size());
    pass.apply(needed, slow, padded.data());
    pass.apply(needed, weights.data(), padded.data());
  }
  grid::for_each_row<D>(extents, [&](const Coord<D>&, Index i) {
    for (Index k = i; k < i + extents[D - 1]; ++k) slow[k] = weights.data()[k] > 0.0 ? slow[k] / weights.data()[k] : 0.0;
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                     \
  template void find_slow_velocity<T, D>(const grid::MacField<T, D>&, int, const std::uint8_t*, Index, \
                                         const parallel::IndexBox<D>&, double*, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
