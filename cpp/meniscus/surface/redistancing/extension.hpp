/// Extension of fields off a surface, constant along its normals.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::surface {

enum class ExtensionSide {
  outside,  ///< away from the inside: in the order of increasing phi
  both,     ///< away from the surface on both sides: in the order of increasing |phi|
};

struct ExtensionCounts {
  Index reached = 0;    ///< samples that were given a value
  Index unreached = 0;  ///< samples of the band that no known sample reaches; they keep their values
};

/// Solves grad phi . grad f = 0 for the samples of `field` that are not known and have |phi| < band (metres), by upwinding: with
/// the neighbour of smaller phi along each axis, if it has a value, f = sum w_d f_d / sum w_d, w_d = phi - phi_d. The order of
/// phi makes this explicit (Adalsteinsson and Sethian 1999). A sample that no value reaches in this way, as in a local minimum of
/// phi, gets the mean of the known samples beside it. Constants are continued exactly.
///
/// `field` is on cells, nodes or faces and phi, which should be a distance function, on cells or nodes of the same grid; between
/// its samples phi is averaged. `known` has the owned extents of the field, nonzero where it is known, and is updated. Periodic
/// sides connect. Ghosts are not filled. When anything is thrown, field and mask are unchanged. Collective; counts are of the
/// whole domain.
template <class T, int D>
ExtensionCounts extend(grid::Field<T, D>& field, const grid::Field<T, D>& phi, std::uint8_t* known, double band,
                       ExtensionSide side, Workspace& workspace);

}  // namespace meniscus::surface
