/// Connected components of a liquid: the faces that liquid touches, the component that each part came from,
/// and the neighbourhood of each component.
///
/// Labels are one 32-bit number per owned cell in C order: zero in air, else the number of the component.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// mask[face] = whether a cell next to the face across `axis` is liquid in the pressure solve (see free_surface.hpp); owned
/// extents of that component. There is no liquid beyond the sides of the domain. Fills the ghosts that other blocks own.
template <class T, int D>
void liquid_faces(grid::Field<T, D>& liquid, int axis, std::uint8_t* mask);

/// Traces each cell that has a label now back along the velocity for dt seconds. Its origin is the label of the cell in which the
/// trace ends, else the most frequent label around that cell (the smallest of several), else zero. Zero in air. Collective.
template <class T, int D>
void component_origins(const grid::MacField<T, D>& velocity, double dt, const std::int32_t* before, const std::int32_t* now,
                       std::int32_t* origin);

/// Extends labels into the air by layers of cells that share a face; where several meet, the smallest is taken. With the level
/// set of a solid on nodes, only the last layer extends into that: labels do not pass walls of two cells or more. Collective.
template <int D>
void spread_labels(const grid::Grid<D>& grid, std::int32_t* labels, int layers, const grid::Field<double, D>* solid,
                   Workspace& workspace);

/// Gives components that touch at an edge or a corner of a cell one label, and the sum of their volumes, by label; with `films`
/// (surface::LabelledParts) those that touch at a face, too. Where the solid (on nodes, or nullptr) has all that cells have in
/// common, they do not touch. Collective.
///
/// A film on a slope is a stair of cells, and as it slides its liquid passes from one step to the next: were each a part of its
/// own, its expected volume would hold it in place.
template <int D>
void join_touching_components(const grid::Grid<D>& grid, const grid::Field<double, D>* solid, bool films, std::int32_t* labels,
                              std::vector<double>& volumes);

}  // namespace meniscus::fluids
