/// Set operations on level sets with the same samples: phi <= 0 inside.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::surface {

enum class SetOperation {
  unite,      ///< min(phi, other)
  intersect,  ///< max(phi, other)
  subtract,   ///< max(phi, -other)
};

/// Sets phi to the result of the operation with another level set. NaN in either is kept.
template <class T, int D>
void combine_level_sets(grid::Field<T, D>& phi, SetOperation operation, const grid::Field<T, D>& other);

/// Whether `combine_level_sets` would change a value that the surface may depend on: one within `near` (m) of zero, on either
/// side of it, before or after. To unite with what is inside already, or to subtract what is outside, moves nothing.
template <class T, int D>
bool combining_moves_surface(const grid::Field<T, D>& phi, SetOperation operation, const grid::Field<T, D>& other, double near);

}  // namespace meniscus::surface
