/// Volume and area of the inside of a level set, from the surface that `SurfaceExtraction` makes, and volume fractions of cells.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::surface {

struct LevelSetMeasure {
  double volume = 0;  ///< of phi <= 0 in the domain, m^D: that of the closed mesh but for rounding
  double area = 0;    ///< of the surface without the sides of the domain, m^(D - 1)
};

/// Collective; sums do not depend on the blocks of the domain. Throws InvalidArgument for samples that are not finite.
template <class T, int D>
LevelSetMeasure measure_level_set(const grid::Field<T, D>& phi, Workspace& workspace);

/// Sets `out` (on the cells) to the part of each cell that is inside. For samples on nodes the cells are those of the mesh, so
/// that the fractions add up to its volume; for samples on cells the corners get the mean of the cells around them, second order.
template <class T, int D>
void volume_fractions(const grid::Field<T, D>& phi, grid::Field<T, D>& out, Workspace& workspace);

}  // namespace meniscus::surface
