/// Mean curvature of level sets, 1/m: the sum of the principal curvatures, positive where phi <= 0 is convex (1/R for a disc, 2/R
/// for a ball).
///
/// Source: Osher and Fedkiw 2003, "Level Set Methods and Dynamic Implicit Surfaces", section 1.4 (divergence of the normal, and
/// the bound by the spacing).
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::surface {

enum class CurvatureKind {
  level,    ///< of the level set through each sample
  surface,  ///< of the zero set, at the point closest to each sample; phi is taken for a distance
  columns,  ///< of the zero set, at the point closest to each sample, from its heights along the axis closest to the normal
};

/// Sets `out` (samples of the same places) by central differences over the nearest neighbours, second order where phi is smooth.
/// Values are clamped to `limit` / spacing. Where the gradient vanishes, the curvature is 0. Ghosts of phi must be up to date.
///
/// Level sets of a distance are parallel surfaces: with mean and Gauss curvature k and g at distance d, the zero set's is
/// (k - 2 d g) / (1 - d k + d^2 g).
///
/// `columns` uses only the zeros of phi on a sample's line and on the lines around it (by the cubic through four samples). Five
/// by five of these heights give the curvature, whatever the slope of phi is, or three by three if not all are found. Samples
/// more than a spacing and a half away along that axis, and those whose lines do not meet the surface nearby, get the value of
/// `surface`. Source: Popinet 2009, section 5.2 (height functions), with crossings as heights.
template <class T, int D>
void level_set_curvature(const grid::Field<T, D>& phi, CurvatureKind kind, double limit, grid::Field<T, D>& out);

}  // namespace meniscus::surface
