/// Interpolation of level sets between two stored frames of an animated body.
///
/// Source: Selle 2008, section 7.5.1.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/transport/point_sampler.hpp"

namespace meniscus::surface {

enum class BlendMethod {
  two_sided,  ///< (1 - a) phi0(x - a dt v) + a phi1(x + (1 - a) dt v) with the mean velocity v of both frames
  one_sided,  ///< phi0(x - a dt v0)
  linear,     ///< (1 - a) phi0(x) + a phi1(x)
};

/// Sets `out` to the level set at part `a` in [0, 1] of the time `dt` (s) from phi0 to phi1; all samples at the same places. With
/// `two_sided` and `linear` the ends are phi0 and phi1 in every bit. `linear` does not use velocities. Ghosts must be up to date.
/// Throws InvalidArgument for displacements that are not finite; then `out` is not defined.
template <class T, int D>
void blend_level_sets(const grid::Field<T, D>& phi0, const grid::Field<T, D>& phi1, const grid::MacField<T, D>* velocity0,
                      const grid::MacField<T, D>* velocity1, double dt, double a, BlendMethod blend,
                      grid::Interpolation interpolation, grid::Field<T, D>& out);

}  // namespace meniscus::surface
