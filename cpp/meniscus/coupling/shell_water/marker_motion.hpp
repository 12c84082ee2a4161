/// Markers and drops of water beside thin shells: their ways end on the side on which they began.
///
/// Source: Guendelman et al. 2005, section 4.4.2; Selle 2008, section 4.4.3.
#pragma once

#include "meniscus/coupling/shells/shell_walls.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::coupling {

/// Sets out[i] for points (n, D), m, in cells no more than `reach` cells from a wall; what is outside of the domain counts to the
/// nearest cell.
template <class T, int D>
void mark_near_walls(const grid::ThinWalls<D>& walls, const T* points, Index reach, std::span<std::uint8_t> out);

/// Where points (n, D), m, get to in dt along a velocity, by the mean of the velocities at the start and at the end of a first
/// way past the walls; walls do not stop the second way: `stop_at_shells` does.
template <class T, int D>
void trace_past_walls(grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls, std::span<const Vec<double, D>> points,
                      double dt, double time, std::span<Vec<double, D>> out);

enum class WayEnd : std::uint8_t {
  free,     ///< the way meets no shell
  stopped,  ///< it does: the point does not come nearer to the shell than that comes to it
  lost,     ///< whatever it does, it meets a shell
};

/// Ends the ways of points, straight from `from` to `to` while the shell moves from `start` to `end` in dt, on the side of the
/// shell on which they begin, exactly: `to` is changed where they would not. `velocity`: of points that are stopped, what they go
/// on with, m/s; of others the speed of their way. `distances`: how far from the shell those are put that find a way neither
/// along it nor with it, m, one for each point.
template <int D>
void stop_at_shells(const ShellWalls<D>& start, const ShellWalls<D>& end, std::span<const Vec<double, D>> from, double dt,
                    std::span<const double> distances, std::span<Vec<double, D>> to, std::span<Vec<double, D>> velocity,
                    std::span<std::uint8_t> ends);

}  // namespace meniscus::coupling
