#include "meniscus/grid/continuation.hpp"

#include <algorithm>

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
  Coord<D> c = index;
  double scale = 1.0;
  double offset = 0.0;
  for (int d = D - 1; d >= 0; --d) {
    const Index n = view.extents[d];
    const int on_side = layout.stagger.on_side[static_cast<std::size_t>(d)];
    if (layout.halo.shared(d)) {
      const Index period = layout.grid.shape()[d];
      c[d] = ((c[d] % period) + period) % period;
      if (on_side && c[d] == 0) c[d] = period;  // the last of the two copies is the owner
      continue;
    }
    c[d] = bring_near(c[d], n);
    while (c[d] < 0 || c[d] >= n) {
      const int upper = c[d] >= n;
      const GhostRule& rule = layout.rules[static_cast<std::size_t>(side_index(d, upper))];
      if (rule.kind == GhostRule::Kind::clamp) {
        c[d] = upper ? n - 1 : 0;
        continue;
      }
      if (rule.kind == GhostRule::Kind::value)
        return static_cast<T>(offset + scale * given_at<D>(layout, d, upper, c, time, far));
      if (rule.odd) {
        offset += scale * 2.0 * given_at<D>(layout, d, upper, c, time, far);
        scale = -scale;
      }
      c[d] = mirrored(c[d], n, on_side, upper);
    }
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
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
