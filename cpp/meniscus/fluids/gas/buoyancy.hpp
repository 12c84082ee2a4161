/// Buoyancy of smoke: heavy smoke sinks, hot air rises.
///
/// Sources: Selle 2008, section 4.4.1; Guendelman et al. 2005, section 4.1.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// The acceleration is (-density_weight * density + temperature_weight * (temperature - ambient)) * up, in m/s^2 for an `up` of
/// length 1.
template <int D>
struct Buoyancy {
  Vec<double, D> up = Vec<double, D>::Zero();
  double density_weight = 0.0;
  double temperature_weight = 0.0;
  double ambient = 0.0;
};

/// Adds dt times the acceleration to every face, from the mean of the two cells beside it. A null field means no smoke, or
/// ambient temperature. Fills the ghosts of the fields.
template <class T, int D>
void add_buoyancy(grid::MacField<T, D>& velocity, grid::Field<T, D>* density, grid::Field<T, D>* temperature,
                  const Buoyancy<D>& buoyancy, double dt, double time);

}  // namespace meniscus::fluids
