/// The plane of the liquid in a cell of volume fractions, and in a group of cells that flow fills together.
#pragma once

#include "meniscus/surface/volume_of_fluid/open_space.hpp"

namespace meniscus::surface {

/// Parts of the open space of each cell that are liquid.
template <int D>
using Fractions = grid::FieldView<const double, D>;

/// Fractions below this, or as close to 1, have no plane.
inline constexpr double smallest_fraction = 1e-9;

inline bool is_mixed(double fraction) { return fraction > smallest_fraction && fraction < 1 - smallest_fraction; }

/// The plane of the liquid in a cell that is neither full nor empty, from its lower corner in cells; the fractions of the cells
/// up to two away are read.
template <int D>
HalfSpace<D> liquid_plane(const Fractions<D>& fractions, const OpenSpace<D>& open, const Coord<D>& c);

/// The fraction of a cell when the liquid of its group (OpenSpace::visit_group) lies below one plane.
template <int D>
double fraction_in_group(const Fractions<D>& fractions, const OpenSpace<D>& open, const Coord<D>& c);

}  // namespace meniscus::surface
