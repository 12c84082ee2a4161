/// Primitive shapes with exact signed distances. Lengths are in metres. InvalidArgument is thrown for values that are not finite,
/// a size that is not positive, or an axis of no length.
#pragma once

#include "meniscus/surface/shapes/implicit_shape.hpp"

#include <vector>

namespace meniscus::surface {

/// A ball, in 2-D a disc.
template <int D>
ShapePointer<D> sphere(const Vec<double, D>& center, double radius);

/// An axis-aligned box whose edges are rounded by arcs of radius `rounding` (0: sharp), inside of its two corners.
template <int D>
ShapePointer<D> box(const Vec<double, D>& lower, const Vec<double, D>& upper, double rounding);

/// Half-space behind the plane through `point`: `normal` points out of it.
template <int D>
ShapePointer<D> half_space(const Vec<double, D>& point, const Vec<double, D>& normal);

/// All points within `radius` of a segment.
template <int D>
ShapePointer<D> capsule(const Vec<double, D>& start, const Vec<double, D>& end, double radius);

/// The frustum of a cone around the segment from start to end, with flat ends of the given radii, one of which may be 0; a
/// cylinder if they are equal.
ShapePointer<3> cone(const Vec<double, 3>& start, const Vec<double, 3>& end, double start_radius, double end_radius);

/// A ring of circular section around `axis`; major_radius > minor_radius.
ShapePointer<3> torus(const Vec<double, 3>& center, const Vec<double, 3>& axis, double major_radius, double minor_radius);

/// Axis-aligned, with one radius per axis. The distance is the root of a scalar equation, found to rounding.
template <int D>
ShapePointer<D> ellipsoid(const Vec<double, D>& center, const Vec<double, D>& radii);

/// The points that closed loops of vertices wind around an odd number of times in the sense of crossings (even-odd rule); loops
/// of either orientation may lie in each other but should not cross.
ShapePointer<2> polygon(const std::vector<std::vector<Vec<double, 2>>>& loops);

}  // namespace meniscus::surface
