/// Filling of the ghost layers of a padded block.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Fills the ghosts axis by axis, so that edges and corners are right: shared sides through the halo plan, sides of the domain by
/// their rule. `first` points at the start of a padded block with the given layout. `time` is passed to boundary functions.
template <class T, int D>
void fill_ghosts(const FieldLayout<D>& layout, T* first, double time);

/// The same, but the nearest ghosts beyond sides of the domain lie on the line through the last two samples, along one axis after
/// the other: what a surface that meets the sides does in the outer halves of their cells. Of one sample they are its copies.
template <class T, int D>
void fill_ghosts_on_lines(Field<T, D>& field, double time);

/// A padded block of a layout.
template <class T, int D>
struct PaddedBlock {
  const FieldLayout<D>* layout;
  T* first;
};

/// The same for several blocks of one grid, with one message for each shared side of an axis.
template <class T, int D>
void fill_ghosts(std::span<const PaddedBlock<T, D>> blocks, double time);

/// Sets the samples that lie on a side of the domain to the value that the rule of that side gives.
template <class T, int D>
void set_side_values(const FieldLayout<D>& layout, T* first, int axis, int upper, double time);

}  // namespace meniscus::grid
