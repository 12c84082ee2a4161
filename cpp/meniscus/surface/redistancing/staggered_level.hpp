/// Interpolation of a level set to the samples of another field, strip by strip.
#pragma once

#include "meniscus/grid/strips/strip_grid.hpp"

namespace meniscus::surface {

/// Averages of phi at the samples of a field on the same grid. Beyond a side the nearest sample of phi counts.
template <class T, int D>
class StaggeredLevel {
 public:
  StaggeredLevel(const grid::Field<T, D>& phi, const grid::FieldLayout<D>& at) : view_(phi.view()), own_(phi.layout()) {
    for (std::size_t d = 0; d < D; ++d) {
      const int mine = phi.stagger().on_side[d], theirs = at.stagger.on_side[d];
      low_[d] = mine < theirs ? -1 : 0;
      high_[d] = mine > theirs ? 1 : 0;
      if (mine != theirs) weight_ *= T(0.5);
    }
  }

  /// phi at `lanes` samples from `start` (index in the other field) along the last axis.
  MENISCUS_INLINE void sample(const Coord<D>& start, int lanes, T* out) const {
    constexpr std::size_t last = D - 1;
    const Index first = start[last];
    const bool inside =
        first + low_[last] >= own_.first[last] && first + lanes - 1 + high_[last] < own_.first[last] + own_.count[last];
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
  Index resolved(std::size_t axis, Index i) const {
    return own_.first[axis] + own_.nearest(static_cast<int>(axis), i - own_.first[axis]);
  }

  grid::FieldView<const T, D> view_;
  grid::StripGrid<D> own_;
  Coord<D> low_, high_;
  T weight_ = T(1);
};

}  // namespace meniscus::surface
