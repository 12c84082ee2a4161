/// Interpolation of fields at scattered points, and advection of points by a velocity.
///
/// Where a grid is cut into blocks, the points of a block may lie anywhere: the blocks that have their cells answer. All blocks
/// call the functions together, also those that have no points.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/transport/trace.hpp"

#include <vector>

namespace meniscus::grid {

/// values[i] = field at points[i]; points are (n, D) row-major, metres. Beyond the domain the
/// boundary rules at `time` give the values.
template <class T, int D>
void sample_points(Field<T, D>& field, const T* points, Index n, Interpolation interpolation, double time, T* values);

/// The same for a padded block with filled ghosts that has the layout of a field, and begins at `first`. Not collective: the
/// points lie in the block, or as near to it as the ghosts.
template <class T, int D>
void sample_points(const FieldLayout<D>& layout, const T* first, const T* points, Index n, Interpolation interpolation,
                   double time, T* values);

/// velocities[i] (n, D) = velocity at points[i].
template <class T, int D>
void sample_points(MacField<T, D>& velocity, const T* points, Index n, double time, T* velocities);

/// Positions in which points may end.
enum class OutsidePoints {
  keep,   ///< anywhere
  clamp,  ///< on the domain: moved to the nearest point of it
};

/// Moves points (n, D) along the velocity for dt seconds of either sign, in place. On periodic axes they are wrapped into the
/// domain. Nothing is moved if anything is thrown: InvalidArgument for points or velocities that are not finite; Interrupted.
template <class T, int D>
void advance_points(MacField<T, D>& velocity, T* points, Index n, double dt, Trace trace, OutsidePoints outside, double time,
                    Workspace& workspace);

/// A part of a path: along this velocity for dt seconds, of either sign.
template <class T, int D>
struct PathStep {
  MacField<T, D>* velocity;
  double dt;
};

/// A map of the flow, at the faces: each component of `out` becomes that of `source` at the end of the path that begins at its
/// face, or has it added. `out` is none of the other fields, and the grid is not cut into blocks. InvalidArgument for others, and
/// for samples that are not finite.
template <class T, int D>
void sample_along(MacField<T, D>& out, MacField<T, D>& source, const std::vector<PathStep<T, D>>& path, Trace trace,
                  Interpolation interpolation, double time, bool add);

}  // namespace meniscus::grid
