/// Distances of the samples next to an interface, from which all other distances follow.
#pragma once

#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Method for the distance of a sample next to a change of sign from the interface.
enum class InterfaceDistance {
  /// The closest point of a piecewise tricubic (bicubic) interpolant, found by Newton's method (Chopp 2001, section 3).
  /// At a kink or a thin feature the interpolant is useless. The distance there is phi / |grad phi|, with the slope
  /// nearest to one in the range of the one-sided differences, within the limits of the crossings along the axes. A
  /// distance function with corners does not change.
  closest_point,
  /// 1 / d^2 = sum 1 / d_a^2 over the distances d_a to the crossings along the axes by linear interpolation: exact for planes
  /// that cross all axes within one cell, first order otherwise. The method of the literature.
  axis_crossings,
};

/// What becomes of a surface that meets a side of the domain, unless that is periodic.
enum class AtSides {
  ends,  ///< it ends there: distances are those from the part within the domain
  /// It goes on beyond. Samples of the band whose closest point lies there take their distance from neighbours
  /// (inflow_search.hpp), so that a plane at any angle to the sides stays what it is.
  goes_on,
};

/// Touches the strips that hold samples next to a change of sign (phi <= 0 against phi > 0), makes their distances final and adds
/// the strips and their neighbours to `queue`. Where the surface is smooth, closest points are also computed for the samples that
/// touch those, at least at a corner, so that curvatures at the interface have the accuracy of the interpolant. Those with
/// inflow from walls and, if the surface goes on there, from sides follow as far as `reach` (cells). Returns false, after partial
/// work, if a sample is not finite. `phi` is the array that the strips describe; `spacing` in metres.
template <class T, int D, class Visibility>
bool find_interface(const grid::FieldView<const T, D>& phi, double spacing, InterfaceDistance method, AtSides at_sides,
                    double reach, const Visibility& visibility, DistanceStrips<T, D>& strips, StripQueue<D>& queue,
                    Workspace& workspace);

}  // namespace meniscus::surface
