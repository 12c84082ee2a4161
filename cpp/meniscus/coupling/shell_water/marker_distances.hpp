/// Markers of water that keep a distance of their own from thin shells, so that films do not collapse into one layer of them.
///
/// Source: Guendelman et al. 2005, section 4.4.2; Selle 2008, section 4.4.3.
#pragma once

#include "meniscus/coupling/shells/shell_walls.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::coupling {

/// As `trace_past_walls`; but points no farther from a shell than their distance, m, and those that meet one on their first way,
/// do not come nearer to it than it comes to them. Zero: a point without a distance.
template <class T, int D>
void trace_at_distance(grid::MacField<T, D>& velocity, const ShellWalls<D>& walls, std::span<const Vec<double, D>> points,
                       std::span<const double> distances, double dt, double time, std::span<Vec<double, D>> out);

/// What a push to a distance has come to.
enum class Push : std::uint8_t {
  none,     ///< the point was far enough
  pushed,   ///< it is now
  blocked,  ///< it is nearer to a shell than its distance, as the way out is not free
};

/// Moves points that are nearer to shells than their distance away from these, in the domain and without meeting any; also the
/// straight way from where they were before a step, `from`, while the shells moved from `start` to `end`, meets none. A point
/// between two shells moves only where both are farther than the nearer one was: it does not go to and fro. `to` is rounded to T.
template <class T, int D>
void push_from_shells(const ShellWalls<D>& start, const ShellWalls<D>& end, std::span<const Vec<double, D>> from,
                      std::span<const double> distances, std::span<Vec<double, D>> to, std::span<std::uint8_t> pushes);

}  // namespace meniscus::coupling
