/// Options and counts of a sheet that is remeshed.
#pragma once

#include "meniscus/surface/tracking/tracking_options.hpp"

#include <Eigen/Core>

#include <limits>
#include <numbers>

namespace meniscus::solids {

/// A point of a sheet at rest, in its plane.
using RestPoint = Eigen::Vector2d;

/// How long edges should be.
enum class SheetSizing : std::int8_t {
  curvature,  ///< by the largest curvature at their ends, the same in all directions, as printed
  tensor,     ///< by the curvature along them, and by compression
};

struct SheetOptions {
  /// Bounds of the lengths that are wanted, m.
  double shortest = 0, longest = 0;
  /// The size of an edge is its length over the wanted one. Where a surface has the curvature k, edges of this angle over k are
  /// wanted, rad.
  double turn = 0.35;
  SheetSizing sizing = SheetSizing::curvature;
  /// Edges of a size above `split_above` are split, those below `collapse_below` collapse if no edge gets one above
  /// `collapse_to`.
  double collapse_below = 0.4, collapse_to = 0.95, split_above = 1.25;
  /// Wanted lengths grow at most by this times the distance.
  double grading = 0.5;
  /// Angles of triangles at rest are not made smaller than this, rad.
  double least_angle = 15 * std::numbers::pi / 180;
  bool split = true, flip = true, collapse = true;
  /// Places by butterfly subdivision as well as in the middle, whichever has less energy.
  bool butterfly = true;
  /// kg/m^2.
  double density = 1;
  /// Lame's constants of plane stress times the thickness, N/m, and the stiffness against bending, N m: for energies of
  /// operations.
  double lambda = 0, mu = 0, bending = 0;
  /// An operation waits if it raises the energy around it by more than this part of it and more than `energy_floor`, J.
  double energy_rise = 0.5;
  double energy_floor = std::numeric_limits<double>::infinity();
};

/// What remeshing did. Refusals for `shape` are those of the rest state, or of sizes; for `topology`, of what is held and of the
/// outline, too; `veto` is for energy.
struct SheetCounts {
  surface::OperationCounts split, flip, collapse;
  /// Operations that another place than the best one was safe for.
  Index second_places = 0;
  /// Sums of the changes of energy by operations, J: of all, and of the sizes of all. For membrane and hinges around each.
  double energy_change = 0, energy_jumps = 0;
};

}  // namespace meniscus::solids
