/// Vorticity of a staggered velocity, and integral measures of a flow.
#pragma once

#include "meniscus/fluids/vorticity/cell_gradient.hpp"

namespace meniscus::fluids {

/// curl u at the cell centres, 1/s, by central differences (Selle 2008, section 3.2.1; Guendelman et al. 2005, section 4.1): one
/// field in two dimensions, three in three. Beyond the domain, values follow from the boundary conditions at `time` (s).
template <class T, int D>
void compute_vorticity(grid::MacField<T, D>& velocity, double time,
                       const std::array<grid::Field<T, D>*, vorticity_components<D>>& out);

/// Half the integral of |curl u|^2 over the domain, m^D/s^2, from the cell centres. Collective.
template <class T, int D>
double enstrophy(grid::MacField<T, D>& velocity, double time);

/// Half the integral of |u|^2 over the domain, m^(D + 2)/s^2: each component from its own faces, those on sides that are not
/// periodic with half a cell each. Collective.
template <class T, int D>
double kinetic_energy(const grid::MacField<T, D>& velocity);

}  // namespace meniscus::fluids
