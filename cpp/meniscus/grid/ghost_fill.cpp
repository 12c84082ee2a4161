#include "meniscus/grid/ghost_fill.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/continuation.hpp"

#include <vector>

namespace meniscus {
namespace {

/// The ghosts of one axis beyond one side, over all samples of the earlier axes (with ghosts) and the owned ones of the later axes.
template <class T, int D>
class SideFill {
 public:
  SideFill(const FieldLayout<D>& layout, const FieldView<T, D>& view, int axis, int upper, double time)
      : layout_(layout), view_(view), axis_(axis), upper_(upper), time_(time) {
    for (int d = 0; d < D; ++d) {
      begin_[d] = d < axis ? -ghost_width : 0;
      end_[d] = d < axis ? view.extents[d] + ghost_width : view.extents[d];
    }
    begin_[axis] = upper ? view.extents[axis] : -ghost_width;
    end_[axis] = begin_[axis] + ghost_width;
  }

  /// Neither side asks a function: every ghost layer is an affine image of an owned layer.
  void fill_by_image() const {
    std::array<AxisImage, ghost_width> images;
    for (int g = 0; g < ghost_width; ++g)
      images[static_cast<std::size_t>(g)] = resolve_axis(layout_, axis_, begin_[axis_] + g);
    // A row runs along the last axis, or across the ghost layers where that is the last axis.
    Index rows = 1;
    for (int d = 0; d + 1 < D; ++d) rows *= end_[d] - begin_[d];
    const Index length = end_[D - 1] - begin_[D - 1];
    parallel_for(0, rows, std::max<Index>(1, 8192 / length), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r) {
        Coord<D> c = coordinate(r * length);
        T* ghost = view_.at(c);
        if (axis_ == D - 1) {
          const T* row = ghost - c[D - 1];
          for (Index g = 0; g < ghost_width; ++g) {
            const AxisImage& m = images[static_cast<std::size_t>(g)];
            ghost[g] = apply(m, row[m.index]);
          }
        } else {
          const AxisImage& m = images[static_cast<std::size_t>(c[axis_] - begin_[axis_])];
          c[axis_] = m.index;
          const T* source = view_.at(c);
          for (Index k = 0; k < length; ++k) ghost[k] = apply(m, source[k]);
        }
      }
    });
  }

  /// One batched call of the function for all ghosts beyond the side.
  void fill_by_function() const {
    const GhostRule& rule = layout_.rules[static_cast<std::size_t>(side_index(axis_, upper_))];
    const Index count = size();
    const bool reflects = rule.kind == GhostRule::Kind::mirror;
    const auto n = static_cast<std::size_t>(count);
    std::vector<double> positions(n * D);
    std::vector<double> given(n);
    for (std::size_t i = 0; i < n; ++i) {
      Vec<double, D> x = sample_position<D>(layout_.grid, layout_.stagger, coordinate(static_cast<Index>(i)));
      if (reflects) x = project_to_side(layout_.grid, x, axis_, upper_);
      for (int d = 0; d < D; ++d) positions[i * D + static_cast<std::size_t>(d)] = x[d];
    }
    rule.evaluate(positions, D, time_, given);
    const int on_side = layout_.stagger.on_side[static_cast<std::size_t>(axis_)];
    const Index owned = view_.extents[axis_];
    for (std::size_t i = 0; i < n; ++i) {
      const Coord<D> c = coordinate(static_cast<Index>(i));
      Coord<D> image = c;
      image[axis_] = mirrored(c[axis_], owned, on_side, upper_);
      if (!reflects)
        *view_.at(c) = static_cast<T>(given[i]);
      else if (image[axis_] >= 0 && image[axis_] < owned)
        *view_.at(c) = static_cast<T>(2.0 * given[i] - static_cast<double>(*view_.at(image)));
      else  // fewer samples than ghost layers: reflected more than once
        *view_.at(c) = continued(c);
    }
  }

  /// The slow way, for axes narrower than the ghosts.
  void fill_one_by_one() const {
    for (Index i = 0; i < size(); ++i) {
      const Coord<D> c = coordinate(i);
      *view_.at(c) = continued(c);
    }
  }

 private:
  Index size() const {
    Index n = 1;
    for (int d = 0; d < D; ++d) n *= end_[d] - begin_[d];
    return n;
  }

  T continued(const Coord<D>& c) const {
    return continued_value<T, D>(layout_, {view_.origin, view_.extents, view_.strides}, c, time_);
  }

  /// A constant given value has scale 0; owned samples are finite.
  static T apply(const AxisImage& m, T v) {
    return static_cast<T>(static_cast<T>(m.scale) * v + static_cast<T>(m.offset));
  }

  /// Coordinates of the n-th sample of the slab.
  Coord<D> coordinate(Index n) const {
    Coord<D> c;
    for (int d = D - 1; d >= 0; --d) {
      const Index m = end_[d] - begin_[d];
      c[d] = begin_[d] + n % m;
      n /= m;
    }
    return c;
  }

  const FieldLayout<D>& layout_;
  const FieldView<T, D>& view_;
  int axis_;
  int upper_;
  double time_;
  Coord<D> begin_{};
  Coord<D> end_{};
};

bool asks_function(const GhostRule& rule) {
  return rule.function && (rule.kind == GhostRule::Kind::value || rule.odd);
}

}  // namespace

template <class T, int D>
void fill_ghosts(const FieldLayout<D>& layout, T* first, double time) {
  const FieldView<T, D> view = layout.template view<T>(first);
  for (int axis = 0; axis < D; ++axis) {
    if (layout.halo.shared(axis)) {
      layout.halo.exchange(axis, first);
      continue;
    }
    const auto rule = [&](int upper) -> const GhostRule& {
      return layout.rules[static_cast<std::size_t>(side_index(axis, upper))];
    };
    const bool either_asks = asks_function(rule(0)) || asks_function(rule(1));
    for (int upper : {0, 1}) {
      const SideFill<T, D> side(layout, view, axis, upper, time);
      // A narrow axis is reflected from side to side, so one function concerns the ghosts of both.
      const bool by_function = asks_function(rule(upper)) || (either_asks && view.extents[axis] <= ghost_width);
      if (by_function && asks_function(rule(upper)))
        side.fill_by_function();
      else if (by_function)
        side.fill_one_by_one();
      else
        side.fill_by_image();
    }
  }
}

template <class T, int D>
void set_side_values(const FieldLayout<D>& layout, T* first, int axis, int upper, double time) {
  const FieldView<T, D> view = layout.template view<T>(first);
  const GhostRule& rule = layout.rules[static_cast<std::size_t>(side_index(axis, upper))];
  Coord<D> extents = view.extents;
  extents[axis] = 1;
  const auto n = static_cast<std::size_t>(product<D>(extents));
  const auto coordinate = [&](std::size_t i) {
    Coord<D> c;
    auto rest = static_cast<Index>(i);
    for (int d = D - 1; d >= 0; --d) {
      c[d] = rest % extents[d];
      rest /= extents[d];
    }
    if (upper) c[axis] = view.extents[axis] - 1;
    return c;
  };
  if (!rule.function) {
    for (std::size_t i = 0; i < n; ++i) *view.at(coordinate(i)) = static_cast<T>(rule.constant);
    return;
  }
  std::vector<double> positions(n * D);
  std::vector<double> given(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec<double, D> x = sample_position<D>(layout.grid, layout.stagger, coordinate(i));
    for (int d = 0; d < D; ++d) positions[i * D + static_cast<std::size_t>(d)] = x[d];
  }
  rule.evaluate(positions, D, time, given);
  for (std::size_t i = 0; i < n; ++i) *view.at(coordinate(i)) = static_cast<T>(given[i]);
}

#define MENISCUS_INSTANTIATE(T, D)                                      \
  template void fill_ghosts<T, D>(const FieldLayout<D>&, T*, double); \
  template void set_side_values<T, D>(const FieldLayout<D>&, T*, int, int, double);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
MENISCUS_INSTANTIATE(std::uint8_t, 2)
MENISCUS_INSTANTIATE(std::uint8_t, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus
