#include "meniscus/coupling/shell_water/marker_distances.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/coupling/shell_water/velocity_past_walls.hpp"

#include <algorithm>

namespace meniscus::coupling {
namespace {

/// Pushes in a row, out of corners; and the least that one must gain, in cells.
constexpr int most_pushes = 4;
constexpr double least_gain = 1e-6;

template <int D>
Vec<double, D> separating(const Vec<double, D>& u, const Vec<double, D>& wall_velocity, const Vec<double, D>& normal) {
  return u + std::max(0.0, (wall_velocity - u).dot(normal)) * normal;
}

template <class T, int D>
Vec<double, D> rounded_point(Vec<double, D> x) {
  for (int d = 0; d < D; ++d) x[d] = static_cast<double>(static_cast<T>(x[d]));
  return x;
}

template <int D>
bool in_domain(const grid::Grid<D>& grid, const Vec<double, D>& x) {
  for (int d = 0; d < D; ++d) {
    const double cells = (x[d] - grid.origin()[d]) / grid.spacing();
    if (!(cells >= 0 && cells <= static_cast<double>(grid.shape()[d]))) return false;
  }
  return true;
}

/// The way out of the reach of what is nearest, step by step.
template <class T, int D>
Push pushed_place(const ShellWalls<D>& walls, double distance, Vec<double, D>& x) {
  const double h = walls.grid().spacing();
  ClosestWall<D> wall = walls.closest_wall(x, distance);
  // Rounding of a place at the distance itself is none of its matter.
  const double enough = (1 - 1e-6) * distance;
  Push result = Push::none;
  for (int i = 0; i < most_pushes && wall.distance < enough; ++i) {
    const Vec<double, D> place = rounded_point<T, D>(x + (distance - wall.distance) * wall.normal);
    if (!in_domain(walls.grid(), place) || !walls.visible(x, place)) break;
    const ClosestWall<D> next = walls.closest_wall(place, distance);
    if (!(next.distance > wall.distance + least_gain * h)) break;
    x = place;
    wall = next;
    result = Push::pushed;
  }
  return wall.distance < enough ? Push::blocked : result;
}

}  // namespace

template <class T, int D>
void trace_at_distance(grid::MacField<T, D>& velocity, const ShellWalls<D>& walls, std::span<const Vec<double, D>> points,
                       std::span<const double> distances, double dt, double time, std::span<Vec<double, D>> out) {
  require(velocity.grid() == walls.grid(), "the walls must have the grid of the velocity");
  velocity.fill_ghosts(time);
  const grid::VelocitySource<T, D> flow(velocity, time);
  const double margin = least_gain * walls.grid().spacing();
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Vec<double, D>& x = points[i];
      Vec<double, D> first = velocity_past_walls<T, D>(flow, walls, {x, x});
      const bool apart = distances[i] > 0;
      const ClosestWall<D> wall = apart ? walls.closest_wall(x, distances[i] + margin) : ClosestWall<D>{};
      if (wall.triangle >= 0) first = separating<D>(first, wall.velocity, wall.normal);
      const Vec<double, D> aim = x + dt * first;
      const grid::OneSidedPlace<D> place = grid::follow<D>(walls, x, aim);
      Vec<double, D> mean = 0.5 * (first + velocity_past_walls<T, D>(flow, walls, place));
      if (wall.triangle >= 0) {
        mean = separating<D>(mean, wall.velocity, wall.normal);
      } else if (apart && place.place != aim) {
        const NearestWall<D> met = walls.nearest_wall(x, aim);
        mean = separating<D>(mean, met.velocity, met.normal);
      }
      out[i] = x + dt * mean;
    }
  });
}

template <class T, int D>
void push_from_shells(const ShellWalls<D>& start, const ShellWalls<D>& end, std::span<const Vec<double, D>> from,
                      std::span<const double> distances, std::span<Vec<double, D>> to, std::span<std::uint8_t> pushes) {
  const std::size_t n = to.size();
  std::vector<Vec<double, D>> places(to.begin(), to.end());
  parallel_for(0, static_cast<Index>(n), 64, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      pushes[i] = static_cast<std::uint8_t>(distances[i] > 0 ? pushed_place<T, D>(end, distances[i], places[i]) : Push::none);
  });
  std::vector<std::size_t> moved;
  std::vector<Vec<double, D>> begins, ends;
  for (std::size_t i = 0; i < n; ++i)
    if (places[i] != to[i]) {
      moved.push_back(i);
      begins.push_back(from[i]);
      ends.push_back(places[i]);
    }
  std::vector<std::uint8_t> met(moved.size());
  start.mark_crossing_points(end, begins, ends, met);
  for (std::size_t k = 0; k < moved.size(); ++k)
    if (met[k])
      pushes[moved[k]] = static_cast<std::uint8_t>(Push::blocked);
    else
      to[moved[k]] = ends[k];
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                    \
  template void trace_at_distance<T, D>(grid::MacField<T, D>&, const ShellWalls<D>&, std::span<const Vec<double, D>>, \
                                        std::span<const double>, double, double, std::span<Vec<double, D>>);          \
  template void push_from_shells<T, D>(const ShellWalls<D>&, const ShellWalls<D>&, std::span<const Vec<double, D>>,   \
                                       std::span<const double>, std::span<Vec<double, D>>, std::span<std::uint8_t>);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
