#include "meniscus/grid/boundary_values.hpp"

#include "meniscus/grid/continuation.hpp"

namespace meniscus::grid {

template <int D>
SampleBox<D> box_beyond(const FieldLayout<D>& layout, int axis, int upper, Index width) {
  const Coord<D> extents = layout.extents();
  SampleBox<D> box;
  for (int d = 0; d < D; ++d) {
    box.begin[d] = d < axis ? -width : 0;
    box.end[d] = d < axis ? extents[d] + width : extents[d];
  }
  box.begin[axis] = upper ? extents[axis] : -width;
  box.end[axis] = box.begin[axis] + width;
  return box;
}

template <int D>
void evaluate_given(const FieldLayout<D>& layout, int axis, int upper, const SampleBox<D>& box, double time,
                    std::vector<double>& values) {
  const GhostRule& rule = layout.rules[side_index(axis, upper)];
  const Index n = box.size();
  values.resize(n);
  std::vector<double> positions(rule.function ? n * D : 0);
  for (std::size_t i = 0; i * D < positions.size(); ++i) {
    Vec<double, D> x = sample_position<D>(layout.grid, layout.stagger, box.coordinate(static_cast<Index>(i)));
    if (rule.kind == GhostRule::Kind::mirror) x = project_to_side(layout.grid, x, axis, upper);
    for (int d = 0; d < D; ++d) positions[i * D + static_cast<std::size_t>(d)] = x[d];
  }
  rule.evaluate(positions, D, time, values);
}

template <int D>
void FarValues<D>::prepare(const FieldLayout<D>& layout, Index width, double time) {
  for (int axis = 0; axis < D; ++axis)
    for (int upper : {0, 1}) {
      const Index s = side_index(axis, upper);
      if (width <= ghost_width || layout.halo.shared(axis, upper) || !needs_function(layout.rules[s])) continue;
      sides_[s].box = box_beyond(layout, axis, upper, width);
      evaluate_given(layout, axis, upper, sides_[s].box, time, sides_[s].values);
    }
}

#define MENISCUS_INSTANTIATE(D)                                                                                        \
  template SampleBox<D> box_beyond<D>(const FieldLayout<D>&, int, int, Index);                                         \
  template void evaluate_given<D>(const FieldLayout<D>&, int, int, const SampleBox<D>&, double, std::vector<double>&); \
  template class FarValues<D>;
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
