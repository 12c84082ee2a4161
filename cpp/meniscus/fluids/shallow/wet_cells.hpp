/// Wet cells, their fill ratios, and the shore.
///
/// Source: Mueller et al., "Real time physics class notes", (11.8) to (11.10), with the height of the ground in the bounds.
#pragma once

#include "meniscus/fluids/shallow/shallow_model.hpp"

namespace meniscus::fluids {

/// Sets the part of each cell that water covers, (nx, ny) in C order, from the heights of its four neighbours; ghosts must be
/// filled. flat: least range of heights, m. film: depth below which water does not spread, m. In a cell without water, the
/// surface is that of the highest water beside it: depths are never negative here, as they are in the notes where water covers an
/// edge of a cell alone.
template <class T>
void fill_ratio(const ShallowModel<T>& model, const ShallowFields<T>& water, double flat, double film, double* ratio);

/// Sets a function that is negative under water and linear across a shore on even ground: the height of the ground over the
/// surface of the highest water beside it, m.
template <class T>
void height_over_water(const ShallowModel<T>& model, const ShallowFields<T>& water, double* height);

}  // namespace meniscus::fluids
