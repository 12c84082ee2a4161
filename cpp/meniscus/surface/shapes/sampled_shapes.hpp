/// Shapes from triangle meshes, level sets on grids, and functions.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/surface/shapes/implicit_shape.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

#include <functional>

namespace meniscus::surface {

/// The inside of a mesh, with its exact distance. Later changes of the mesh do not count.
ShapePointer<3> mesh_shape(const MeshDistance& mesh);

/// The inside of a level set that is a signed distance, interpolated linearly, which may exceed the distance by the error of the
/// interpolation. Outside of the grid, the value at its nearest point plus the distance to that: what reaches a side ends beyond
/// it. The samples are copied; those on cells need filled ghosts.
template <class T, int D>
ShapePointer<D> level_set_shape(const grid::Field<T, D>& phi);

/// Signed distances out[n] at points (n, D), row-major; called from several threads.
using DistanceFunction = std::function<void(const double* points, int n, double* out)>;

/// The points where a function is not positive. Its extent is not known.
template <int D>
ShapePointer<D> function_shape(DistanceFunction function);

}  // namespace meniscus::surface
