/// Boundary functions evaluated on whole boxes of samples, with one call of the function per box.
#pragma once

#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/field.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::grid {

/// Samples begin[d] <= index[d] < end[d], numbered in C order.
template <int D>
struct SampleBox {
  Coord<D> begin{};
  Coord<D> end{};

  Index size() const {
    Index n = 1;
    for (int d = 0; d < D; ++d) n *= end[d] - begin[d];
    return n;
  }
  Coord<D> coordinate(Index n) const {
    Coord<D> c;
    for (int d = D - 1; d >= 0; --d) {
      const Index m = end[d] - begin[d];
      c[d] = begin[d] + n % m;
      n /= m;
    }
    return c;
  }
  bool contains(const Coord<D>& c) const {
    for (int d = 0; d < D; ++d)
      if (c[d] < begin[d] || c[d] >= end[d]) return false;
    return true;
  }
  Index number(const Coord<D>& c) const {
    Index n = 0;
    for (int d = 0; d < D; ++d) n = n * (end[d] - begin[d]) + (c[d] - begin[d]);
    return n;
  }
};

/// Whether the rule needs its function to continue a field.
inline bool needs_function(const GhostRule& rule) { return rule.function && (rule.kind == GhostRule::Kind::value || rule.odd); }

/// The samples up to `width` beyond a side that filling axis after axis reaches: those of the earlier axes with `width` more on
/// both sides, the owned ones of the later axes.
template <int D>
SampleBox<D> box_beyond(const FieldLayout<D>& layout, int axis, int upper, Index width);

/// Values that the rule of a side gives at all samples of the box; a mirroring rule is evaluated at the projection on the side.
template <int D>
void evaluate_given(const FieldLayout<D>& layout, int axis, int upper, const SampleBox<D>& box, double time,
                    std::vector<double>& values);

/// Distance, in samples, that traces of the given CFL number reach beyond a side, with `margin` more for staggering or a wide
/// stencil. It is bounded, so that the prepared values stay in proportion to the field.
inline Index far_width(double cfl, int margin) { return static_cast<Index>(std::min(std::ceil(cfl) + margin, 64.0)); }

/// The same for samples of other blocks, which must all be there: layers beyond a block that are read to interpolate at positions
/// up to `cells` from its samples, in a stencil that is `margin` wider than two samples. A little more counts as on the safe
/// side.
inline Index far_reach(double cells, int margin) {
  return static_cast<Index>(std::min(std::floor(cells + 0.01) + 1 + margin, 1e9));
}

/// Values beyond the ghosts, for traces that leave them: given ones (without this, each such sample costs a call of the function)
/// and the samples of other blocks.
template <int D>
class FarValues {
 public:
  BlockWindow<double, D> samples;

  /// Evaluates the functions of all sides up to `width` samples out; does nothing where that is within the ghosts.
  void prepare(const FieldLayout<D>& layout, Index width, double time);

  /// Collective where the grid is cut into blocks: obtains the samples of other blocks up to `width` beyond the own one; does
  /// nothing where that is within the ghosts. `first`: the padded block, whose own samples are up to date.
  template <class T>
  void fetch(const FieldLayout<D>& layout, const T* first, Index width) {
    const FieldView<const T, D> view = layout.view(first);
    samples.fetch(layout.grid, layout.stagger, view.origin, view.strides, width > ghost_width ? width : 0);
  }

  /// The value at `c`, seen from a side, or nullptr where it was not asked for.
  const double* find(int axis, int upper, const Coord<D>& c) const {
    const Side& s = sides_[side_index(axis, upper)];
    return !s.values.empty() && s.box.contains(c) ? &s.values[s.box.number(c)] : nullptr;
  }

 private:
  struct Side {
    SampleBox<D> box;
    std::vector<double> values;
  };
  std::array<Side, 2 * D> sides_;
};

/// The same for every component of a velocity that is interpolated up to `cells` away from positions in the block. Collective.
template <class T, int D>
std::array<FarValues<D>, D> far_values(const MacField<T, D>& velocity, double cells, double time) {
  std::array<FarValues<D>, D> far;
  for (int d = 0; d < D; ++d) {
    FarValues<D>& f = far[d];
    f.prepare(velocity.component(d).layout(), far_width(cells, 1), time);
    // Samples of another place in the cells are half a cell farther away.
    f.fetch(velocity.component(d).layout(), velocity.component(d).storage().data(), far_reach(cells + 0.5, 0));
  }
  return far;
}

}  // namespace meniscus::grid
