/// Visibility policies: which samples an interpolation may use, and what replaces a hidden one.
///
/// A policy decides for a sampling point and a corner of its interpolation cell. The schemes use nothing else, so they treat a
/// solid given as a mask and a thin wall between two samples alike. The contract, for a policy P:
///
///   static constexpr bool all_visible    true: no question is ever asked
///   bool clear(Index cell) const         the whole stencil of that cell may be used unasked; `cell` is the storage offset of its
///                                        lowest corner from the owned origin
///   bool visible(from, corner) const     may the point `from` (index in the sampled field) see sample `corner`?
///   T replacement(seen, own) const       what a hidden corner counts as, given the mean of the seen corners (weighted as in the
///                                        interpolation; nullptr where none is seen) and the point's own value
#pragma once

#include "meniscus/grid/continuation.hpp"

namespace meniscus::grid {

struct AllVisible {
  static constexpr bool all_visible = true;
};

/// Value that replaces a hidden sample.
enum class HiddenValue {
  mean,  ///< the weighted mean of the seen corners (the weights are renormalised); the point's own value where none is seen
  own,   ///< the value at the point itself, as if nothing changed up to the obstacle
};

/// Samples with mask 0 are hidden from everywhere, and so are their images beyond the sides of the domain.
template <class T, int D>
struct MaskedVisibility {
  static constexpr bool all_visible = false;

  const FieldLayout<D>* layout;                  ///< how the mask continues beyond its ghosts
  FieldView<const std::uint8_t, D> mask;         ///< with ghosts
  FieldView<const std::uint8_t, D> clear_cells;  ///< 1 where the stencil that starts there holds no hidden sample
  HiddenValue hidden = HiddenValue::mean;

  bool clear(Index cell) const { return clear_cells.origin[cell] != 0; }
  bool visible(const Coord<D>& /*from*/, const Coord<D>& corner) const {
    for (int d = 0; d < D; ++d)
      if (corner[d] < -ghost_width || corner[d] >= mask.extents[d] + ghost_width)
        return continued_value<std::uint8_t, D>(*layout, mask, corner, 0.0) != 0;
    return *mask.at(corner) != 0;
  }
  T replacement(const T* seen, T own) const { return hidden == HiddenValue::mean && seen ? *seen : own; }
};

}  // namespace meniscus::grid
