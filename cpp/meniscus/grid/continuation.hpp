/// Continuation of a field beyond the domain: its value at any index, for ghost layers and for long traces.
///
/// Axes are resolved from the last to the first. This gives the same values as filling the ghosts
/// axis by axis from the first to the last.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/boundary_values.hpp"

#include <algorithm>

namespace meniscus::grid {

/// A trace has left the ghosts beyond a side that is shared with another block.
class OutsideGhosts : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// An owned sample and an affine map: value = scale * sample + offset.
struct AxisImage {
  Index index = 0;
  double scale = 1.0;
  double offset = 0.0;
};

/// Source of sample `index` beyond a side of the domain, if no side of the axis needs a function. A constant given value is {any
/// index, 0, value}. A block that is cut along the axis must have more samples there than `index` is far outside.
template <int D>
AxisImage resolve_axis(const FieldLayout<D>& layout, int axis, Index index);

/// Continued value at `index`, from owned samples only, and beyond sides shared with other blocks from ghosts, which must be
/// filled. Beyond those, samples are taken from `far`; where it does not have them, OutsideGhosts is thrown. Given values are
/// taken from `far` if it contains them; otherwise boundary functions are evaluated at one position at a time.
template <class T, int D>
T continued_value(const FieldLayout<D>& layout, const FieldView<const T, D>& view, const Coord<D>& index, double time,
                  const FarValues<D>* far = nullptr);

/// `x` moved onto the side.
template <int D>
Vec<double, D> project_to_side(const Grid<D>& grid, Vec<double, D> x, int axis, int upper) {
  x[axis] = grid.origin()[axis] + (upper ? grid.spacing() * static_cast<double>(grid.shape()[axis]) : 0.0);
  return x;
}

/// `index`, or beyond some lengths of the axis, where reflections would take long, the last place that is reflected.
constexpr Index bring_near(Index index, Index n) {
  constexpr Index far_lengths = 8;
  return std::clamp(index, -far_lengths * n, far_lengths * n + n - 1);
}

/// The mirror image of sample `index` in a side, for `n` samples on the axis.
constexpr Index mirrored(Index index, Index n, int on_side, int upper) {
  return upper ? 2 * n - 1 - on_side - index : on_side - 1 - index;
}

}  // namespace meniscus::grid
