#include "meniscus/coupling/shell_water/marker_motion.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/coupling/shell_water/velocity_past_walls.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::coupling {

template <class T, int D>
void mark_near_walls(const grid::ThinWalls<D>& walls, const T* points, Index reach, std::span<std::uint8_t> out) {
  const grid::Grid<D>& grid = walls.grid();
  const Coord<D>& shape = grid.local_shape();
  parallel_for(0, static_cast<Index>(out.size()), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      Index cell = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const auto axis = static_cast<Index>(d);
        const double x = (static_cast<double>(points[i * D + axis]) - grid.origin()[axis]) / grid.spacing();
        const auto last = static_cast<double>(shape[d] - 1);
        cell = cell * shape[d] + static_cast<Index>(std::clamp(std::floor(x), 0.0, last));
      }
      out[i] = static_cast<Index>(walls.clearance()[cell]) <= reach;
    }
  });
}

template <class T, int D>
void trace_past_walls(grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls, std::span<const Vec<double, D>> points,
                      double dt, double time, std::span<Vec<double, D>> out) {
  require(velocity.grid() == walls.grid(), "the walls must have the grid of the velocity");
  velocity.fill_ghosts(time);
  const grid::VelocitySource<T, D> flow(velocity, time);
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Vec<double, D>& x = points[i];
      const Vec<double, D> first = velocity_past_walls<T, D>(flow, walls, {x, x});
      const Vec<double, D> second = velocity_past_walls<T, D>(flow, walls, grid::follow<D>(walls, x, x + dt * first));
      out[i] = x + 0.5 * dt * (first + second);
    }
  });
}

template <int D>
void stop_at_shells(const ShellWalls<D>& start, const ShellWalls<D>& end, std::span<const Vec<double, D>> from, double dt,
                    std::span<const double> distances, std::span<Vec<double, D>> to, std::span<Vec<double, D>> velocity,
                    std::span<std::uint8_t> ends) {
  using Point = Vec<double, D>;
  const std::size_t n = from.size();
  std::vector<std::uint8_t> met(n);
  start.mark_crossing_points(end, from, to, met);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < n; ++i) {
    velocity[i] = (to[i] - from[i]) / dt;
    ends[i] = static_cast<std::uint8_t>(WayEnd::free);
    if (met[i]) open.push_back(i);
  }
  // First along the shell, then with it, then beside the place that was closest; what still meets it has no place to go.
  const double reach = open.empty() ? 0.0 : 2 * start.longest_way(end) + 4 * start.grid().spacing();
  for (int attempt = 0; attempt < 3 && !open.empty(); ++attempt) {
    std::vector<Point> begins, tries, speeds;
    for (const std::size_t i : open) {
      begins.push_back(from[i]);
      if (attempt == 2) {
        const ClosestWall<D> closest = start.closest_wall(from[i], reach);
        tries.push_back(closest.triangle < 0 ? to[i] : start.beside(end, from[i], closest, distances[i]));
        speeds.push_back(closest.velocity);
        continue;
      }
      const Point u = (to[i] - from[i]) / dt;
      const NearestWall<D> wall = start.nearest_wall(from[i], to[i]);
      Point w = wall.velocity;
      if (attempt == 0) w = u + std::max(0.0, (wall.velocity - u).dot(wall.normal)) * wall.normal;
      tries.push_back(from[i] + dt * w);
      speeds.push_back(w);
    }
    met.assign(open.size(), 0);
    start.mark_crossing_points(end, begins, tries, met);
    std::vector<std::size_t> rest;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const std::size_t i = open[k];
      if (met[k]) {
        rest.push_back(i);
        continue;
      }
      to[i] = tries[k];
      velocity[i] = speeds[k];
      ends[i] = static_cast<std::uint8_t>(WayEnd::stopped);
    }
    open = std::move(rest);
  }
  for (const std::size_t i : open) ends[i] = static_cast<std::uint8_t>(WayEnd::lost);
}

template void stop_at_shells<2>(const ShellWalls<2>&, const ShellWalls<2>&, std::span<const Vec<double, 2>>, double,
                                std::span<const double>, std::span<Vec<double, 2>>, std::span<Vec<double, 2>>,
                                std::span<std::uint8_t>);
template void stop_at_shells<3>(const ShellWalls<3>&, const ShellWalls<3>&, std::span<const Vec<double, 3>>, double,
                                std::span<const double>, std::span<Vec<double, 3>>, std::span<Vec<double, 3>>,
                                std::span<std::uint8_t>);
#define MENISCUS_INSTANTIATE(T, D)                                                                                        \
  template void mark_near_walls<T, D>(const grid::ThinWalls<D>&, const T*, Index, std::span<std::uint8_t>);               \
  template void trace_past_walls<T, D>(grid::MacField<T, D>&, const grid::ThinWalls<D>&, std::span<const Vec<double, D>>, \
                                       double, double, std::span<Vec<double, D>>);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
