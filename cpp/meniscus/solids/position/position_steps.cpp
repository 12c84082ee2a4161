#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/position/position_constraints.hpp"

#include <limits>

namespace meniscus::solids {
namespace {

constexpr Index chunk = 4096;

template <class T>
Vec<T, 3> position_of(const PositionNode<T>& p) {
  return {p.x, p.y, p.z};
}

}  // namespace

template <class T>
void predict_positions(std::span<PositionNode<T>> nodes, std::span<Vec<T, 3>> velocities, std::span<Vec<T, 3>> previous,
                       const Vec<double, 3>& acceleration, double dt, double max_speed) {
  require(velocities.size() == nodes.size() && previous.size() == nodes.size(),
          "there must be velocities and places of all nodes");
  const Vec<T, 3> added = (dt * acceleration).template cast<T>();
  const auto h = static_cast<T>(dt), most = static_cast<T>(max_speed);
  const bool bounded = max_speed < std::numeric_limits<T>::max();
  parallel_for(0, static_cast<Index>(nodes.size()), chunk, [&](Index first, Index last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      PositionNode<T>& p = nodes[i];
      previous[i] = position_of(p);
      if (p.w == 0) continue;
      velocities[i] += added;
      // The stable norm: squares of great speeds overflow.
      if (const T speed = bounded ? velocities[i].stableNorm() : T(0); speed > most) velocities[i] *= most / speed;
      p.x += h * velocities[i][0];
      p.y += h * velocities[i][1];
      p.z += h * velocities[i][2];
    }
  });
}

template <class T>
void update_velocities(std::span<const PositionNode<T>> nodes, std::span<const Vec<T, 3>> previous,
                       std::span<Vec<T, 3>> velocities, double dt, double kept) {
  require(velocities.size() == nodes.size() && previous.size() == nodes.size(),
          "there must be velocities and places of all nodes");
  const auto h = static_cast<T>(dt), part = static_cast<T>(kept);
  parallel_for(0, static_cast<Index>(nodes.size()), chunk, [&](Index first, Index last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
      if (nodes[i].w != 0) velocities[i] = part * ((position_of(nodes[i]) - previous[i]) / h);
  });
}

#define MENISCUS_INSTANTIATE(T)                                                                                                  \
  template void predict_positions<T>(std::span<PositionNode<T>>, std::span<Vec<T, 3>>, std::span<Vec<T, 3>>,                     \
                                     const Vec<double, 3>&, double, double);                                                     \
  template void update_velocities<T>(std::span<const PositionNode<T>>, std::span<const Vec<T, 3>>, std::span<Vec<T, 3>>, double, \
                                     double);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::solids
