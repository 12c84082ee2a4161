/// Measures of liquid particles, and of the deviation of their density from uniform.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::fluids {

/// Collective: largest magnitude of any value in a column of float32 or float64, of the particles of all blocks; zero of none,
/// infinite where one is not finite.
double largest_value(parallel::Communicator& communicator, grid::ParticleSet& particles, std::string_view column);

/// Collective: sum of the squares of all values in such a column, in double precision, whatever the order and the blocks of the
/// particles.
double sum_of_squares(parallel::Communicator& communicator, grid::ParticleSet& particles, std::string_view column);

/// Largest relative change of the density of a cell in one correction.
inline constexpr double largest_density_change = 0.5;

/// What a correction of the density follows: the strain of a velocity over dt (s), at `rate` times as much. So liquid that
/// nothing strains keeps its particles where they are.
template <class T, int D>
struct CorrectedStrain {
  grid::MacField<T, D>& velocity;
  double dt, time, rate;
};

/// excess = relative excess of particles per cell, within the largest change, in the liquid (level set <= 0), as much of it as
/// the strain asks for (nullptr: all); next to air and a solid (level set on nodes, or nullptr), where a cell need not be full,
/// at least zero; zero in air. All fields are on cells; the ghosts of the level set and of the velocity are filled.
template <class T, int D>
void density_excess(const grid::Field<T, D>& density, double per_cell, grid::Field<T, D>& levelset,
                    const grid::Field<double, D>* solid, const CorrectedStrain<T, D>* strain, grid::Field<T, D>& excess);

}  // namespace meniscus::fluids
