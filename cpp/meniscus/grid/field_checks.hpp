/// Reductions over fields: maximum speeds for time steps, and the search for values that are not finite.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Throws InvalidArgument with the global index of the first sample that is NaN or infinite. `name` says whose samples they are.
template <class T, int D>
void require_finite(const Field<T, D>& field, const char* name);

template <class T, int D>
void require_finite(const MacField<T, D>& velocity);

/// Index of the first of n values that is not finite, or n.
template <class T>
Index first_not_finite(const T* values, Index n);

/// Largest magnitude of any component of the velocity on its faces, in all blocks of the grid, m/s.
template <class T, int D>
double max_component_speed(const MacField<T, D>& velocity);

/// The same, and with the ghosts beyond the sides of the domain, where a given velocity may be larger: traces read both. Ghosts
/// must be filled. The second is that of the faces alone where the grid is one block, in which no trace leaves what it can read.
struct SpeedRange {
  double faces, with_ghosts;
};
template <class T, int D>
SpeedRange max_component_speeds(const MacField<T, D>& velocity);

/// Largest sum over the axes of |V_d| at the samples with the given stagger, in all blocks, m/s. It bounds the step of
/// dimension-by-dimension upwinding. Ghosts must be filled.
template <class T, int D>
double max_speed_sum(const MacField<T, D>& velocity, const Stagger<D>& stagger);

}  // namespace meniscus::grid
