/// Distances to the surface of water that is visible: redistancing beside thin walls.
///
/// Away from walls the distances are those of the ordinary method. Where that may have looked through a wall, they are found anew
/// by fast marching from sample to sample that see each other, from the crossings on this side alone. A wall is no surface of
/// water: water meets it as it meets other solids.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.4.1, without its interface along the wall.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::coupling {

/// `phi`: what the ordinary redistancing has made of `before`, with +-band (m) in samples that are farther away. Changes those
/// whose distance may have led through a wall; no sample changes sides, and those that see no surface get +-band. Returns how
/// many were found anew. `outside` (C order; nullptr: everywhere): zero in samples in a solid, into which the level set was
/// continued; beside these, a surface is where it changes by no more than one and a half cells.
template <class T, int D>
Index redistance_past_walls(grid::Field<T, D>& phi, const grid::Field<T, D>& before, const grid::ThinWalls<D>& walls, double band,
                            const std::uint8_t* outside, Workspace& workspace);

}  // namespace meniscus::coupling
