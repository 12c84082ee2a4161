#include "meniscus/grid/nodes/nodes_past_walls.hpp"

namespace meniscus::grid {
namespace {

/// All components at a place, as the eye sees them: one question.
template <class T, int D>
std::array<PointSample<T>, D> nodes_seen(const NodeSources<T, D>& nodes, const ThinWalls<D>& walls, const OneSidedPlace<D>& at,
                                         HiddenNodes hidden, const std::array<PointSample<T>, D>& own) {
  std::array<Vec<double, D>, 1 << D> of_wall;
  const SeenCorners<D> seen = see_corners<T, D>(nodes[0], walls, at, of_wall.data());
  std::array<PointSample<T>, D> found;
  for (int d = 0; d < D; ++d) {
    const Index i = d;
    const bool of_walls = hidden == HiddenNodes::walls;
    const StandIn stand_in{of_walls ? d : -1, static_cast<double>(own[i].value), !of_walls};
    found[i] = blend_corners<T, D>(nodes[i], seen, stand_in, of_wall.data());
  }
  return found;
}

template <class T, int D>
Vec<double, D> velocity_in(const std::array<PointSample<T>, D>& samples) {
  Vec<double, D> u;
  for (int d = 0; d < D; ++d) u[d] = static_cast<double>(samples[d].value);
  return u;
}

}  // namespace

template <class T, int D>
std::array<PointSample<T>, D> advect_node_past_walls(const NodeSources<T, D>& nodes, const ThinWalls<D>& walls,
                                                     const Coord<D>& node, double dt, Trace trace, HiddenNodes hidden) {
  const Stagger<D> stagger = Stagger<D>::node();
  const Vec<double, D> x = sample_position<D>(walls.grid(), stagger, node);
  std::array<PointSample<T>, D> own;
  for (std::size_t d = 0; d < D; ++d) {
    const T value = *nodes[d].view.at(node);
    own[d] = {value, value, value};
  }
  if (walls.clearance(stagger, node) == 0 && walls.covers(x)) return own;
  Vec<double, D> u = velocity_in<T, D>(own);
  if (trace != Trace::euler)
    u = velocity_in<T, D>(nodes_seen<T, D>(nodes, walls, follow<D>(walls, x, x - 0.5 * dt * u), hidden, own));
  return nodes_seen<T, D>(nodes, walls, follow<D>(walls, x, x - dt * u), hidden, own);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                   \
  template std::array<PointSample<T>, D> advect_node_past_walls<T, D>(const NodeSources<T, D>&, const ThinWalls<D>&, \
                                                                      const Coord<D>&, double, Trace, HiddenNodes);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
