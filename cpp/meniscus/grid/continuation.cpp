#include "meniscus/grid/continuation.hpp"

#include <algorithm>
#include <string>

namespace meniscus::grid {
namespace {

/// The given value of a side at sample c.
template <int D>
double given_at(const FieldLayout<D>& layout, int axis, int upper, const Coord<D>& c, double time, const FarValues<D>* far) {
  const GhostRule& rule = layout.rules[side_index(axis, upper)];
  if (!rule.function) return rule.constant;
  if (far)
    if (const double* value = far->find(axis, upper, c)) return *value;
  Vec<double, D> x = sample_position<D>(layout.grid, layout.stagger, c);
  if (rule.kind == GhostRule::Kind::mirror) x = project_to_side(layout.grid, x, axis, upper);
  double value = 0.0;
  rule.evaluate(std::span<const double>(x.data(), D), D, time, std::span<double>(&value, 1));
  return value;
}

/// Replaces a resolved index by its image that the block or its ghosts hold, around a periodic axis; false where they do not.
template <int D>
bool find_in_block(const FieldLayout<D>& layout, int axis, Index& index) {
  const Index end = layout.extents()[axis] + ghost_width;
  const auto stored = [&](Index i) { return i >= -ghost_width && i < end; };
  if (stored(index)) return true;
  const Index a = axis;
  if (layout.grid.periodic()[a])
    for (const Index i : {index - layout.grid.shape()[a], index + layout.grid.shape()[a]})
      if (stored(i)) {
        index = i;
        return true;
      }
  return false;
}

/// The sample of another block.
template <int D>
double sample_beyond_ghosts(const FieldLayout<D>& layout, const Coord<D>& c, const FarValues<D>* far) {
  if (far)
    if (const double* value = far->samples.find(c)) return *value;
  std::string index;
  for (std::size_t d = 0; d < D; ++d) index += (d ? ", " : "") + std::to_string(layout.grid.first_cell()[d] + c[d]);
  throw OutsideGhosts("a trace asks for sample (" + index + "), which lies beyond the " + std::to_string(ghost_width) +
                      " ghosts of its block");
}

/// Change of a sample where a ghost along one axis is filled from it.
struct GhostStep {
  double scale = 1.0, offset = 0.0;
  bool by_function = false;
};

/// Whether a domain of one block has the sample among its own and its ghosts.
template <int D>
bool in_ghosts_of_domain(const FieldLayout<D>& layout, const Coord<D>& index) {
  const Coord<D> samples = layout.stagger.extents(layout.grid.shape());
  bool inside = true;
  for (std::size_t d = 0; d < D; ++d) {
    const Index i = index[d] + layout.grid.first_cell()[d];
    inside &= i >= -ghost_width && i < samples[d] + ghost_width;
  }
  return inside;
}

/// A sample continued along the axes from `first` on, as ghosts are filled.
template <class T, int D>
T after_steps(const std::array<GhostStep, D>& steps, T value, int first) {
  for (auto d = static_cast<std::size_t>(first); d < D; ++d) {
    const GhostStep& s = steps[d];
    if (s.by_function)
      value = static_cast<T>(s.offset + s.scale * static_cast<double>(value));
    else if (s.scale != 1.0 || s.offset != 0.0)
      value = static_cast<T>(static_cast<T>(s.scale) * value + static_cast<T>(s.offset));
  }
  return value;
}

}  // namespace

template <int D>
AxisImage resolve_axis(const FieldLayout<D>& layout, int axis, Index index) {
  const Index n = layout.extents()[axis];
  const int on_side = layout.stagger.on_side[axis];
  AxisImage image{bring_near(index, n)};
  while (image.index < 0 || image.index >= n) {
    const int upper = image.index >= n;
    const GhostRule& rule = layout.rules[side_index(axis, upper)];
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
  // Where the sample is in memory, and where in the domain: around a periodic axis that is cut these are not the same.
  Coord<D> c = index, place = index;
  double scale = 1.0;
  double offset = 0.0;
  bool stored = true;
  // Ghosts are filled axis by axis in T; what a domain of one block finds in a ghost has the rounding of that.
  const bool ghost = layout.grid.block().cut() && in_ghosts_of_domain<D>(layout, index);
  std::array<GhostStep, D> steps;
  for (int d = D - 1; d >= 0; --d) {
    const Index axis = d;
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
      const GhostRule& rule = layout.rules[side_index(d, upper)];
      if (rule.kind == GhostRule::Kind::clamp) {
        i = upper ? n - 1 : 0;
        continue;
      }
      place[axis] = i - first[axis];
      GhostStep& step = steps[axis];
      if (rule.kind == GhostRule::Kind::value) {
        const double given = given_at<D>(layout, d, upper, place, time, far);
        if (ghost) return after_steps<T, D>(steps, static_cast<T>(step.offset + step.scale * given), d + 1);
        return static_cast<T>(offset + scale * given);
      }
      if (rule.odd) {
        const double given = given_at<D>(layout, d, upper, place, time, far);
        offset += scale * 2.0 * given;
        scale = -scale;
        step.offset += step.scale * 2.0 * given;
        step.scale = -step.scale;
        step.by_function |= rule.function != nullptr;
      }
      i = mirrored(i, n, on_side, upper);
    }
    c[axis] = place[axis] = i - first[axis];
    if (layout.grid.block().cut(d)) stored &= find_in_block(layout, d, c[axis]);
  }
  if (ghost) {
    const T sample = stored ? *view.at(c) : static_cast<T>(sample_beyond_ghosts<D>(layout, c, far));
    return after_steps<T, D>(steps, sample, 0);
  }
  return static_cast<T>(offset + scale * (stored ? static_cast<double>(*view.at(c)) : sample_beyond_ghosts<D>(layout, c, far)));
}

template AxisImage resolve_axis<2>(const FieldLayout<2>&, int, Index);
template AxisImage resolve_axis<3>(const FieldLayout<3>&, int, Index);
#define MENISCUS_INSTANTIATE(T, D)                                                                               \
  template T continued_value<T, D>(const FieldLayout<D>&, const FieldView<const T, D>&, const Coord<D>&, double, \
                                   const FarValues<D>*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
MENISCUS_INSTANTIATE(std::uint8_t, 2)
MENISCUS_INSTANTIATE(std::uint8_t, 3)
MENISCUS_INSTANTIATE(std::int32_t, 2)
MENISCUS_INSTANTIATE(std::int32_t, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
