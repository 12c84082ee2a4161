#include "meniscus/grid/transport/trace_reach.hpp"

#include "meniscus/grid/boundary_values.hpp"
#include "meniscus/parallel/reductions.hpp"

namespace meniscus::grid {
namespace {

/// Largest magnitude of what the sides of the block give up to `width` samples beyond them.
template <int D>
double largest_given(const FieldLayout<D>& layout, Index width, double time) {
  double most = 0.0;
  std::vector<double> values;
  for (int axis = 0; axis < D; ++axis)
    for (const int upper : {0, 1}) {
      const GhostRule& rule = layout.rules[side_index(axis, upper)];
      if (layout.halo.shared(axis, upper)) continue;
      if (rule.kind == GhostRule::Kind::value || rule.odd) most = std::max(most, std::abs(rule.constant));
      if (!needs_function(rule)) continue;
      evaluate_given(layout, axis, upper, box_beyond(layout, axis, upper, width), time, values);
      for (const double v : values) most = std::max(most, std::abs(v));
    }
  return most;
}

}  // namespace

template <class T, int D>
double trace_reach(const MacField<T, D>& velocity, double speed, double cells_per_speed, double start, double time) {
  const Grid<D>& grid = velocity.grid();
  double reach = start + cells_per_speed * speed;
  // Ghosts hold all that is within their layers.
  if (!grid.block().cut() || reach <= ghost_width - 1) return reach;
  const auto longest = static_cast<double>(*std::max_element(grid.shape().begin(), grid.shape().end()));
  const auto shortest = static_cast<double>(*std::min_element(grid.shape().begin(), grid.shape().end()));
  while (reach < longest) {
    double given = 0.0;
    for (int d = 0; d < D; ++d) given = std::max(given, largest_given(velocity.component(d).layout(), far_width(reach, 1), time));
    given = parallel::global_max(*grid.communicator(), given);
    // A reflection adds twice what the side gives.
    const double reflections = std::ceil(reach / shortest) + 1.0;
    const double farther = start + cells_per_speed * (speed + 2.0 * reflections * given);
    if (!(farther > reach)) return reach;
    reach = farther;
  }
  // Half of it, where the velocity is asked for, leads through the domain too.
  return 2.0 * longest + 4.0;
}

#define MENISCUS_INSTANTIATE(T, D) template double trace_reach<T, D>(const MacField<T, D>&, double, double, double, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
