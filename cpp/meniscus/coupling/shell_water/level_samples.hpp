/// A level set past thin walls: values at points, and transport, from samples that are visible alone.
///
/// A wall is no surface of water, and a hidden sample says nothing of this side: in its place counts the mean of the visible
/// corners of the cell that are nearest to it along its edges (of one edge, else of two, else the opposite one).
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.4.1; Selle 2008, section 4.4.3.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/one_sided.hpp"

#include <span>

namespace meniscus::coupling {

/// A field as an eye sees it around a place by linear interpolation; NaN where it sees no sample.
template <class T, int D>
double level_past_walls(const grid::SampleSource<T, D>& phi, const grid::ThinWalls<D>& walls, const grid::OneSidedPlace<D>& at);

/// The same at points (n, D), m, each its own eye.
template <class T, int D>
void sample_level_past_walls(grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls, std::span<const Vec<double, D>> points,
                             double time, std::span<double> out);

/// Gives samples of `phi` no more than `reach` cells from a wall, where |before| < width (m), the semi-Lagrangian values of
/// `before` past the walls. Samples that see nothing where they come from, or that a wall covers, keep their value before.
/// Returns their number.
template <class T, int D>
Index advect_level_past_walls(grid::Field<T, D>& phi, grid::Field<T, D>& before, grid::MacField<T, D>& velocity,
                              const grid::ThinWalls<D>& walls, double dt, double width, Index reach, grid::Trace trace,
                              double time);

/// The same for the faces of a component that are `active` (owned extents, C order), of a velocity that carries itself; faces
/// that walls block are left alone.
template <class T, int D>
Index advect_faces_past_walls(grid::MacField<T, D>& velocity, int axis, grid::MacField<T, D>& before,
                              const grid::ThinWalls<D>& walls, const std::uint8_t* active, double dt, Index reach,
                              grid::Trace trace, double time);

}  // namespace meniscus::coupling
