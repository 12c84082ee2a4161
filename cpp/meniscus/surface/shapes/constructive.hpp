/// Composite shapes: constructive solid geometry, offsets, and similarity transforms.
///
/// All have the Lipschitz constant one and the right sign. The distance stays exact outside of a union, inside of an
/// intersection, and everywhere under complement and transform. Elsewhere (inside overlapping parts of a union, outside of an
/// intersection near its edges) min and max give a magnitude below the distance. An offset or a shell moves a level set of this
/// value, so the same holds for both.
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
