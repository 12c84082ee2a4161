/// The slow part of a velocity: means over a width, weighted by a tent along every axis.
///
/// Only faces of a mask count, in the sum and in the sum of the weights: a uniform velocity stays what it is beside solids and
/// surfaces. Away from those a sine of wave number k along an axis is multiplied by (sin(n k h / 2) / (n sin(k h / 2)))^2 for a
/// width of n cells (Fejér's kernel): never negative, zero for a wavelength of n cells and at most 1/9 for any shorter one. As an
/// operator the filter has eigenvalues between 0 and 1, so that a velocity can be relaxed by its slow part at any rate.
///
/// Source: Thürey, Keiser, Pauly and Rüde, "Detail-preserving fluid control", 2006, section 4; normalised convolution: Knutsson
/// and Westin, 1993.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/parallel/index_box.hpp"

namespace meniscus::fluids {

/// Collective. Sets `slow` to the means of component `axis` over tents of `width` cells, on the faces of the block in C order.
/// `counts`: nonzero for faces that count, of the block in C order. `wanted`: where the means are needed, in samples of the
/// domain, the same for all blocks; elsewhere they are not set. Faces without others in reach that count get zero.
template <class T, int D>
void find_slow_velocity(const grid::MacField<T, D>& velocity, int axis, const std::uint8_t* counts, Index width,
                        const parallel::IndexBox<D>& wanted, double* slow, Workspace& workspace);

}  // namespace meniscus::fluids
