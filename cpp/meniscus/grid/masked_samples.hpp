/// Sums, extrema and assignments over the owned samples of a field, everywhere or where a mask is set.
///
/// A mask is one byte per owned sample in C order, nonzero where it is set; null stands for everywhere.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Collective: sum of the samples of all blocks, with the same bits on any of them. Samples of two blocks count once.
template <class T, int D>
double sum_samples(const Field<T, D>& field, const std::uint8_t* mask);

/// Largest |sample - reference|: zero where there is no sample, infinite where one is not finite. Of all blocks.
template <class T, int D>
double largest_deviation(const Field<T, D>& field, double reference, const std::uint8_t* mask);

/// Largest magnitude of any component of the velocity on the faces where the mask of its axis is set, in all blocks of the grid,
/// m/s: zero where there is no face, infinite where one is not finite.
template <class T, int D>
double max_component_speed(const MacField<T, D>& velocity, const std::array<const std::uint8_t*, D>& masks);

/// Number of samples with |sample| < width, in all blocks; sets mask to where they are.
template <class T, int D>
Index mark_band(const Field<T, D>& field, double width, std::uint8_t* mask);

/// Samples that an assignment sets.
enum class Where { mask_set, mask_clear };

/// sample = value.
template <class T, int D>
void assign(Field<T, D>& field, double value, const std::uint8_t* mask, Where where = Where::mask_set);

/// sample = that of `source`, which has the same layout.
template <class T, int D>
void assign(Field<T, D>& field, const Field<T, D>& source, const std::uint8_t* mask, Where where = Where::mask_set);

/// sample = a x + b y; `field` may be x or y.
template <class T, int D>
void combine(Field<T, D>& field, double a, const Field<T, D>& x, double b, const Field<T, D>& y);

/// sample *= factor.
template <class T, int D>
void scale(Field<T, D>& field, double factor);

/// out = a where `b` is set (`Where::mask_set`) or clear, else zero, of n samples; `b` null stands for everywhere.
void select_mask(Index n, const std::uint8_t* a, const std::uint8_t* b, Where where, std::uint8_t* out);

/// out = 1 where a or b is set, else zero, of n samples; `out` may be a or b.
void unite_masks(Index n, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out);

}  // namespace meniscus::grid
