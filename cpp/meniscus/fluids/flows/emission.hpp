/// Emission: values that a region sets or adds in its cells, and on their faces.
///
/// A cell belongs to the region where the region's level set, sampled on cells, is <= 0.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Result for a sample v under emission of a value e.
enum class EmissionRule {
  raise,  ///< max(v, e)
  add,    ///< v + e
  set,    ///< e
};

/// Applies the rule to the cells of the region; `field` is on cells.
template <class T, int D>
void emit(const grid::Field<T, D>& region, EmissionRule rule, double value, grid::Field<T, D>& field);

/// Sets the velocity of all faces of the cells of the region, m/s. Fills the ghosts of the region.
template <class T, int D>
void emit_velocity(grid::Field<T, D>& region, const Vec<double, D>& value, grid::MacField<T, D>& velocity);

}  // namespace meniscus::fluids
