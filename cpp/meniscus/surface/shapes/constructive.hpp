/// Shapes made of shapes: constructive solid geometry, offsets, and similarity transforms.
///
/// All keep the Lipschitz constant of one and the right sign. The exact distance survives: outside of a union, inside of an
/// intersection, everywhere under complement and transform. Elsewhere (inside overlapping parts of a union, outside of an
/// intersection near its edges) min and max give a bound that is too small in size. What an offset or a shell moves is the level
/// set of the value, so both inherit that.
#pragma once

#include "meniscus/surface/shapes/implicit_shape.hpp"

#include <vector>

namespace meniscus::surface {

/// min of the parts.
template <int D>
ShapePointer<D> shape_union(std::vector<ShapePointer<D>> parts);

/// max of the parts.
template <int D>
ShapePointer<D> shape_intersection(std::vector<ShapePointer<D>> parts);

/// Everything that is not in the shape: -phi.
template <int D>
ShapePointer<D> shape_complement(ShapePointer<D> shape);

/// Grown by `distance` (m), with rounded edges; shrunk by a negative one: phi - distance.
template <int D>
ShapePointer<D> shape_offset(ShapePointer<D> shape, double distance);

/// A wall of this thickness (m) around the surface: |phi| - thickness / 2.
template <int D>
ShapePointer<D> shape_shell(ShapePointer<D> shape, double thickness);

/// A union whose seam is filled by a fillet where the two distances differ by less than `width` (m), a quadratic there:
/// min(a, b) - (width - |a - b|)^2 / (4 width).
template <int D>
ShapePointer<D> shape_smooth_union(ShapePointer<D> a, ShapePointer<D> b, double width);

/// Scaled about the origin by `scale` > 0, then rotated, then translated.
template <int D>
ShapePointer<D> shape_transformed(ShapePointer<D> shape, const RigidPose<D>& pose, double scale);

}  // namespace meniscus::surface
