#include "meniscus/grid/ghost_fill.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/boundary_values.hpp"
#include "meniscus/grid/continuation.hpp"
#include "meniscus/grid/side_line.hpp"

#include <vector>

namespace meniscus::grid {
namespace {

/// The ghosts of one axis beyond one side, over all samples of the earlier axes (with ghosts) and the owned ones of the later
/// axes.
template <class T, int D>
class SideFill {
 public:
  SideFill(const FieldLayout<D>& layout, const FieldView<T, D>& view, int axis, int upper, double time)
      : layout_(layout),
        view_(view),
        axis_(axis),
        upper_(upper),
        time_(time),
        box_(box_beyond(layout, axis, upper, ghost_width)) {}

  /// Neither side asks a function: every ghost layer is an affine image of an owned layer.
  void fill_by_image() const {
    std::array<AxisImage, ghost_width> images;
    for (int g = 0; g < ghost_width; ++g) images[g] = resolve_axis(layout_, axis_, box_.begin[axis_] + g);
    // A row runs along the last axis, or across the ghost layers where that is the last axis.
    Index rows = 1;
    for (int d = 0; d + 1 < D; ++d) rows *= box_.end[d] - box_.begin[d];
    const Index length = box_.end[D - 1] - box_.begin[D - 1];
    parallel_for(0, rows, std::max<Index>(1, 8192 / length), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r) {
        Coord<D> c = box_.coordinate(r * length);
        T* ghost = view_.at(c);
        if (axis_ == D - 1) {
          const T* row = ghost - c[D - 1];
          for (Index g = 0; g < ghost_width; ++g) {
            const AxisImage& m = images[g];
            ghost[g] = apply(m, row[m.index]);
          }
        } else {
          const AxisImage& m = images[c[axis_] - box_.begin[axis_]];
          c[axis_] = m.index;
          const T* source = view_.at(c);
          for (Index k = 0; k < length; ++k) ghost[k] = apply(m, source[k]);
        }
      }
    });
  }

  /// One batched call of the function for all ghosts beyond the side.
  void fill_by_function() const {
    std::vector<double> given;
    evaluate_given(layout_, axis_, upper_, box_, time_, given);
    const bool reflects = layout_.rules[side_index(axis_, upper_)].kind == GhostRule::Kind::mirror;
    const int on_side = layout_.stagger.on_side[axis_];
    const Index owned = view_.extents[axis_];
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Coord<D> c = box_.coordinate(static_cast<Index>(i));
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
    for (Index i = 0; i < box_.size(); ++i) {
      const Coord<D> c = box_.coordinate(i);
      *view_.at(c) = continued(c);
    }
  }

 private:
  T continued(const Coord<D>& c) const {
    return continued_value<T, D>(layout_, {view_.origin, view_.extents, view_.strides}, c, time_);
  }

  /// A constant given value has scale 0; owned samples are finite.
  static T apply(const AxisImage& m, T v) { return static_cast<T>(static_cast<T>(m.scale) * v + static_cast<T>(m.offset)); }

  const FieldLayout<D>& layout_;
  const FieldView<T, D>& view_;
  int axis_;
  int upper_;
  double time_;
  SampleBox<D> box_;
};

/// The ghosts of an axis beyond the sides of the domain.
template <class T, int D>
void fill_sides(const FieldLayout<D>& layout, T* first, int axis, double time) {
  const FieldView<T, D> view = layout.template view<T>(first);
  const auto asks = [&](int upper) {
    return !layout.halo.shared(axis, upper) && needs_function(layout.rules[side_index(axis, upper)]);
  };
  const bool either_asks = asks(0) || asks(1);
  for (int upper : {0, 1}) {
    if (layout.halo.shared(axis, upper)) continue;
    const SideFill<T, D> side(layout, view, axis, upper, time);
    // A narrow axis is reflected from side to side, so one function concerns the ghosts of both.
    const bool by_function = asks(upper) || (either_asks && view.extents[axis] <= ghost_width);
    if (by_function && asks(upper))
      side.fill_by_function();
    else if (by_function)
      side.fill_one_by_one();
    else
      side.fill_by_image();
  }
}

}  // namespace

template <class T, int D>
void fill_ghosts(const FieldLayout<D>& layout, T* first, double time) {
  const PaddedBlock<T, D> block{&layout, first};
  fill_ghosts<T, D>({&block, 1}, time);
}

template <class T, int D>
void fill_ghosts(std::span<const PaddedBlock<T, D>> blocks, double time) {
  std::array<parallel::HaloArray<D>, 8> arrays;
  require(blocks.size() <= arrays.size(), "the ghosts of at most ", arrays.size(), " fields are filled at once, not of ",
          blocks.size());
  std::size_t count = 0;
  for (const PaddedBlock<T, D>& b : blocks) arrays[count++] = {b.layout->halo, b.first};
  for (int axis = 0; axis < D; ++axis) {
    parallel::HaloPlan<D>::exchange_together(axis, std::span(arrays).first(count));
    for (const PaddedBlock<T, D>& b : blocks) fill_sides(*b.layout, b.first, axis, time);
  }
}

template <class T, int D>
void fill_ghosts_on_lines(Field<T, D>& field, double time) {
  field.fill_ghosts(time);
  const Grid<D>& grid = field.grid();
  const FieldView<T, D> view = field.view();
  for (int axis = 0; axis < D; ++axis)
    for (const int upper : {0, 1}) {
      if (grid.shared(axis, upper)) continue;
      SampleBox<D> box;
      for (int d = 0; d < D; ++d) {
        box.begin[d] = -ghost_width;
        box.end[d] = view.extents[d] + ghost_width;
      }
      const Index last = upper ? view.extents[axis] - 1 : 0, inwards = upper ? -view.strides[axis] : view.strides[axis];
      box.begin[axis] = upper ? last + 1 : -1;
      box.end[axis] = box.begin[axis] + 1;
      const bool one = grid.shape()[axis] + field.stagger().on_side[axis] == 1;
      parallel_for(0, box.size(), 4096, [&](Index b, Index e) {
        for (Index i = b; i < e; ++i) {
          T* const ghost = view.at(box.coordinate(i));
          const T own = ghost[inwards];
          *ghost = one ? own
                       : static_cast<T>(value_on_line(static_cast<double>(ghost[2 * inwards]), static_cast<double>(own), 1.0,
                                                      grid.spacing()));
        }
      });
    }
}

template <class T, int D>
void set_side_values(const FieldLayout<D>& layout, T* first, int axis, int upper, double time) {
  const FieldView<T, D> view = layout.template view<T>(first);
  const GhostRule& rule = layout.rules[side_index(axis, upper)];
  SampleBox<D> box;
  box.end = view.extents;
  (upper ? box.begin[axis] : box.end[axis]) = upper ? view.extents[axis] - 1 : 1;
  if (!rule.function) {
    for (Index i = 0; i < box.size(); ++i) *view.at(box.coordinate(i)) = static_cast<T>(rule.constant);
    return;
  }
  std::vector<double> given;
  evaluate_given(layout, axis, upper, box, time, given);
  for (std::size_t i = 0; i < given.size(); ++i) *view.at(box.coordinate(static_cast<Index>(i))) = static_cast<T>(given[i]);
}

#define MENISCUS_INSTANTIATE(T, D)                                             \
  template void fill_ghosts<T, D>(const FieldLayout<D>&, T*, double);          \
  template void fill_ghosts<T, D>(std::span<const PaddedBlock<T, D>>, double); \
  template void set_side_values<T, D>(const FieldLayout<D>&, T*, int, int, double);
template void fill_ghosts_on_lines<float, 3>(Field<float, 3>&, double);
template void fill_ghosts_on_lines<double, 2>(Field<double, 2>&, double);
template void fill_ghosts_on_lines<double, 3>(Field<double, 3>&, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
MENISCUS_INSTANTIATE(std::uint8_t, 2)
MENISCUS_INSTANTIATE(std::uint8_t, 3)
MENISCUS_INSTANTIATE(std::int32_t, 2)
MENISCUS_INSTANTIATE(std::int32_t, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
