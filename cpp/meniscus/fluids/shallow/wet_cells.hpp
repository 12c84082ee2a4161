/// Which cells water covers, how much of them, and where its edge is.
///
/// Source: Mueller et al., "Real time physics class notes", (11.8) to (11.10), with the height of the ground in the bounds.
#pragma once

#include "meniscus/fluids/shallow/shallow_model.hpp"

namespace meniscus::fluids {

/// Sets the part of each cell that water covers, (nx, ny) in C order, from the heights of its four neighbours; ghosts must be filled.
/// flat: least range of heights, m. film: depth below which water does not spread, m.
template <class T>
void fill_ratio(const ShallowModel<T>& model, const ShallowFields<T>& water, double flat, double film, double* ratio);

/// Sets a function that is negative under water and linear across a shore on even ground: the height of the ground over the surface of
/// the highest water beside it, m.
template <class T>
void height_over_water(const ShallowModel<T>& model, const ShallowFields<T>& water, double* height);

}  // namespace meniscus::fluids
