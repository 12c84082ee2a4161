/// Distances of the samples next to an interface, from which all other distances follow.
#pragma once

#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// How far a sample beside a change of sign is from the interface.
enum class InterfaceDistance {
  /// The closest point of a piecewise tricubic (bicubic) interpolant, found by Newton's method (Chopp 2001, section 3). Where the
  /// samples show a kink or a thin feature the interpolant means nothing: there phi / |grad phi| with the slope in the range of
  /// the one-sided differences that is nearest to one, within what the crossings along the axes allow. A distance function with
  /// corners stays what it is.
  closest_point,
  /// 1 / d^2 = sum 1 / d_a^2 over the distances d_a to the crossings along the axes by linear interpolation: exact for planes
  /// that cross all axes within one cell, first order otherwise. What the documents use.
  axis_crossings,
};

/// Touches the strips that hold samples next to a change of sign (phi <= 0 against phi > 0), makes their distances final and
/// hands the strips and their neighbours to `queue`. Closest points are also looked for from the samples that touch those, at
/// least with a corner, where the surface is smooth: all that curvatures at the interface depend on is then of the accuracy of
/// the interpolant. Returns false, having done something, when a sample is not finite.
template <class T, int D, class Visibility>
bool find_interface(const grid::Field<T, D>& phi, InterfaceDistance method, const Visibility& visibility,
                    DistanceStrips<T, D>& strips, StripQueue<D>& queue, Workspace& workspace);

}  // namespace meniscus::surface
