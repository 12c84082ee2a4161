#include "meniscus/grid/continuation.hpp"

#include <algorithm>
#include <string>

namespace meniscus::grid {
namespace {

/// An index this many domain lengths outside is first brought nearer, which bounds the reflections that follow.
constexpr Index far_lengths = 8;

Index bring_near(Index i, Index n) { return std::clamp(i, -far_lengths * n, far_lengths * n + n - 1); }

/// The given value of a side at sample c.
template <int D>
double given_at(const FieldLayout<D>& layout, int axis, int upper, const Coord<D>& c, double time, const FarValues<D>* far) {
  const GhostRule& rule = layout.rules[static_cast<std::size_t>(side_index(axis, upper))];
  if (!rule.function) return rule.constant;
  if (far)
    if (const double* value = far->find(axis, upper, c)) return *value;
  Vec<double, D> x = sample_position<D>(layout.grid, layout.stagger, c);
  if (rule.kind == GhostRule::Kind::mirror) x = project_to_side(layout.grid, x, axis, upper);
  double value = 0.0;
  rule.evaluate(std::span<const double>(x.data(), D), D, time, std::span<double>(&value, 1));
  return value;
}

/// The image of a resolved index that the block or its ghosts hold, around a periodic axis.
template <int D>
Index index_in_block(const FieldLayout<D>& layout, int axis, Index index) {
  const Index end = layout.extents()[axis] + ghost_width;
  const auto stored = [&](Index i) { return i >= -ghost_width && i < end; };
  if (stored(index)) return index;
  const auto a = static_cast<std::size_t>(axis);
  if (layout.grid.periodic()[a])
    for (const Index i : {index - layout.grid.shape()[a], index + layout.grid.shape()[a]})
      if (stored(i)) return i;
  throw OutsideGhosts("a trace along axis " + std::to_string(axis) + " asks for sample " +
                      std::to_string(index + layout.grid.first_cell()[a]) + ", which lies beyond the " +
                      std::to_string(ghost_width) + " ghosts of its block: take a shorter step");
}

}  // namespace

template <int D>
AxisImage resolve_axis(const FieldLayout<D>& layout, int axis, Index index) {
  const Index n = layout.extents()[axis];
  const int on_side = layout.stagger.on_side[static_cast<std::size_t>(axis)];
  AxisImage image{bring_near(index, n)};
  while (image.index < 0 || image.index >= n) {
    const int upper = image.index >= n;
    const GhostRule& rule = layout.rules[static_cast<std::size_t>(side_index(axis, upper))];
    switch (rule.kind) {
      case GhostRule::Kind::clamp:
        image.index = upper ? n - 1 : 0;
        break;
      case GhostRule::Kind::value:
        return {0, 0.0, image.offset + image.scale * rule.constant};
      case GhostRule::Kind::mirror:
        if (rule.odd) {
          image.offset += image.scale * 2.0 * rule.constant;
          image.scale = -image.scale;
        }
        image.index = mirrored(image.index, n, on_side, upper);
        break;
    }
  }
  return image;
}

template <class T, int D>
T continued_value(const FieldLayout<D>& layout, const FieldView<const T, D>& view, const Coord<D>& index, double time,
                  const FarValues<D>* far) {
  const Coord<D>& first = layout.grid.first_cell();
  const Coord<D> samples = layout.stagger.extents(layout.grid.shape());
  Coord<D> c = index;
  double scale = 1.0;
  double offset = 0.0;
  for (int d = D - 1; d >= 0; --d) {
    const auto axis = static_cast<std::size_t>(d);
    const Index n = samples[axis];
    const int on_side = layout.stagger.on_side[axis];
    // The sides are those of the domain, so the global index is resolved.
    Index i = c[axis] + first[axis];
    if (layout.grid.periodic()[axis]) {
      const Index period = layout.grid.shape()[axis];
      i = ((i % period) + period) % period;
      if (on_side && i == 0) i = period;  // the last of the two copies is the owner
    } else {
      i = bring_near(i, n);
    }
    while (i < 0 || i >= n) {
      const int upper = i >= n;
      const GhostRule& rule = layout.rules[static_cast<std::size_t>(side_index(d, upper))];
      if (rule.kind == GhostRule::Kind::clamp) {
        i = upper ? n - 1 : 0;
        continue;
      }
      c[axis] = i - first[axis];
      if (rule.kind == GhostRule::Kind::value)
        return static_cast<T>(offset + scale * given_at<D>(layout, d, upper, c, time, far));
      if (rule.odd) {
        offset += scale * 2.0 * given_at<D>(layout, d, upper, c, time, far);
        scale = -scale;
      }
      i = mirrored(i, n, on_side, upper);
    }
    c[axis] = i - first[axis];
    if (layout.grid.block().cut(d)) c[axis] = index_in_block(layout, d, c[axis]);
  }
  return static_cast<T>(offset + scale * static_cast<double>(*view.at(c)));
}

template AxisImage resolve_axis<2>(const FieldLayout<2>&, int, Index);
template AxisImage resolve_axis<3>(const FieldLayout<3>&, int, Index);
#define MENISCUS_INSTANTIATE(T, D)                                                                               \
  template T continued_value<T, D>(const FieldLayout<D>&, const FieldView<const T, D>&, const Coord<D>&, double, \
                                   const FarValues<D>*);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
MENISCUS_INSTANTIATE(std::uint8_t, 2)
MENISCUS_INSTANTIATE(std::uint8_t, 3)
MENISCUS_INSTANTIATE(std::int32_t, 2)
MENISCUS_INSTANTIATE(std::int32_t, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
