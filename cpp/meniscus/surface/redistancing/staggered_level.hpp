/// Interpolation of a level set to the samples of another field, strip by strip.
#pragma once

#include "meniscus/grid/strips/strip_grid.hpp"
#include "meniscus/grid/strips/strip_window.hpp"

namespace meniscus::surface {

/// Averages of phi at the samples of the arrays that a StripGrid describes, of a field on the same grid. Beyond a side the
/// nearest sample of phi counts.
template <class T, int D>
class StaggeredLevel {
 public:
  /// Collective where the grid is cut into blocks: phi is then fetched around the window of the strips.
  StaggeredLevel(const grid::Field<T, D>& phi, const grid::Stagger<D>& at, const grid::StripGrid<D>& strips, Workspace& workspace)
      : view_(phi.view()) {
    const grid::StripGrid<D> own(phi.layout());
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      const int mine = phi.stagger().on_side[a], theirs = at.on_side[a];
      low_[a] = mine < theirs ? -1 : 0;
      high_[a] = mine > theirs ? 1 : 0;
      if (mine != theirs) weight_ *= T(0.5);
      first_[a] = own.first[a];
      count_[a] = own.count[a];
      around_[a] = own.periods()[a] > 0;
    }
    if (strips.cut) fetch(phi, at, strips, own, workspace);
  }

  /// phi at `lanes` samples from `start` (index in the other arrays) along the last axis.
  MENISCUS_INLINE void sample(const Coord<D>& start, int lanes, T* out) const {
    constexpr std::size_t last = D - 1;
    const Index first = start[last];
    const bool inside = first + low_[last] >= first_[last] && first + lanes - 1 + high_[last] < first_[last] + count_[last];
    for (int k = 0; k < lanes; ++k) out[k] = T(0);
    Coord<D> offset = low_;
    for (;;) {
      Coord<D> c;
      for (std::size_t d = 0; d < last; ++d) c[d] = resolved(d, start[d] + offset[d]);
      c[last] = 0;
      const T* row = view_.at(c);
      for (Index o = low_[last]; o <= high_[last]; ++o) {
        if (inside) {
          const T* from = row + first + o;
          for (int k = 0; k < lanes; ++k) out[k] += from[k];
        } else {
          for (int k = 0; k < lanes; ++k) out[k] += row[resolved(last, first + k + o)];
        }
      }
      std::size_t d = 0;
      while (d < last && offset[d] == high_[d]) {
        offset[d] = low_[d];
        ++d;
      }
      if (d == last) break;
      ++offset[d];
    }
    for (int k = 0; k < lanes; ++k) out[k] *= weight_;
  }

 private:
  /// Takes the samples of phi around a window into an array of their own, which begins at index `first_`.
  void fetch(const grid::Field<T, D>& phi, const grid::Stagger<D>& at, const grid::StripGrid<D>& strips,
             const grid::StripGrid<D>& own, Workspace& workspace) {
    parallel::IndexBox<D> window;
    if (!strips.window.empty())
      for (std::size_t d = 0; d < D; ++d) {
        // Around a periodic axis, coordinates of both count from their own first distinct samples.
        const Index delta = around_[d] ? at.on_side[d] - phi.stagger().on_side[d] : 0;
        window.begin[d] = strips.window.begin[d] + delta + low_[d];
        window.end[d] = strips.window.end[d] + delta + high_[d];
        if (!around_[d]) {
          window.begin[d] = std::max<Index>(window.begin[d], 0);
          window.end[d] = std::min(window.end[d], own.count[d]);
        }
        first_[d] = window.begin[d] - strips.window.begin[d] - delta;
        count_[d] = window.end[d] - window.begin[d];
        window.begin[d] -= strips.shift[d];
        window.end[d] -= strips.shift[d];
      }
    const grid::FieldView<const T, D> from = phi.view();
    Coord<D> first_owned;
    for (int d = 0; d < D; ++d) first_owned[d] = phi.layout().halo.first_owned(d);
    const Coord<D> extents = window.extents(), strides = c_strides<D>(extents);
    samples_ = workspace.take<T>(product<D>(extents));
    parallel::BoxExchange<D>(*phi.grid().communicator(), own.block, window, own.periods())
        .template fetch<T>(from.at(first_owned), from.strides, samples_.data(), strides);
    view_ = {samples_.data() - dot<D>(first_, strides), extents, strides};
  }

  Index resolved(std::size_t axis, Index i) const {
    const Index n = count_[axis];
    Index c = i - first_[axis];
    if (c < 0 || c >= n) c = around_[axis] ? parallel::image_in_period(c, n) : c < 0 ? 0 : n - 1;
    return first_[axis] + c;
  }

  grid::FieldView<const T, D> view_;
  Workspace::Lease<T> samples_;  ///< of a window
  Coord<D> first_, count_;       ///< indices that the view has
  std::array<bool, D> around_;   ///< periodic axes
  Coord<D> low_, high_;
  T weight_ = T(1);
};

}  // namespace meniscus::surface
