/// Values beside thin walls for samples that have none: in a solid, or where a wall has passed or stands. They come from samples
/// on the same side alone.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, sections 3 and 4.1 (what is beyond a shell says nothing of this side).
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::coupling {

/// Which neighbours are on the side of a sample.
enum class ContinuedFrom : std::uint8_t {
  seen,        ///< those that it sees
  open_faces,  ///< those beyond faces that no wall blocks: for cells, also those whose centre a wall covers
};

struct Continuation {
  int layers;
  /// For level sets: with the slope of the two samples before, as far as distances have one; else with constant values.
  bool linear;
  double unreached;  ///< of samples that no layer reaches; NaN: they keep what they hold, as if known
  ContinuedFrom from;
};

struct ContinuationReport {
  Index samples = 0;    ///< that had no value
  Index unreached = 0;  ///< of which no layer reached
  Index layers = 0;     ///< that gave values
};

/// Gives values to samples that are not `known` (owned extents, C order) and no more than `layers` + 1 cells from a wall, in
/// place. Layer by layer, each takes the mean of what neighbours along the axes say. For a level set, two samples in a row say
/// more than others, and of these those count along which it changes least: distances around the corner of a wall have slopes,
/// too, but a surface that is level stays so. Without, squares of three neighbours say more than single ones. There is water only
/// where it is connected to water that is known.
template <class T, int D>
ContinuationReport continue_past_walls(grid::Field<T, D>& field, const std::uint8_t* known, const grid::ThinWalls<D>& walls,
                                       const Continuation& how);

}  // namespace meniscus::coupling
