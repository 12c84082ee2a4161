/// Seeding of marker particles in a band around the surface of a level set, and control of their number (Enright, Fedkiw,
/// Ferziger and Mitchell 2002, sections 3.1 and 3.6).
#pragma once

#include "meniscus/grid/solid_boundary.hpp"
#include "meniscus/surface/markers/particle_radii.hpp"

namespace meniscus::surface {

struct SeedingOptions {
  Index per_cell = 64;           ///< particles in a cell of the band, of both signs together
  double band = 3.0;             ///< half width of the band, in cells
  RadiusBounds radii;            ///< no particle is seeded closer to the surface than the smallest radius
  double escape_distance = 0.0;  ///< as in correct_by_particles
  bool avoid_escaped = true;     ///< seed nothing in cells that have an escaped particle in them or beside them
  std::uint64_t seed = 0;
  std::uint32_t step = 0;  ///< keys the random numbers, with the seed and the cell
  /// For a grid that is a window into a larger one: the place of its first cell there, and the extents of the larger one. Cells
  /// then have the random numbers that they have in the larger one. Zero extents: the grid itself.
  std::array<Index, 3> window_low{};
  std::array<Index, 3> lattice_shape{};
};

struct Seeding {
  Index added = 0;
  Index surplus = 0;      ///< removed: more than per_cell of their sign in their cell
  Index out_of_band = 0;  ///< removed: farther from the surface than the band
  Index failed = 0;       ///< could not be brought into the band and were not added
};

/// Adds particles to every cell up to the wanted number and removes those that are of no use. Escaped particles always stay.
///
/// A cell whose centre has |phi| < band wants per_cell * clamp(1/2 + s phi / h, 0, 1) particles of sign s; it has too many where
/// there are more than per_cell of a sign, of which those nearest to the surface (smallest s phi - radius) stay. A new particle
/// starts at a random place in its cell and is attracted, along the gradient, to a random value of the level set on its side,
/// which is one that the cell has and between the smallest radius and the band; the step is halved where it fails, at most 15
/// times. None is put into the solid, which may be null. The particles that stay are sorted by cell, new ones follow them. Radii
/// are those of adjust_radii.
///
/// Collective: particles must lie in the block that has them, and do so afterwards; on blocks all are then sorted. The report is that of
/// all blocks.
template <class T, int D>
Seeding seed_particles(grid::Field<T, D>& phi, grid::ParticleSet& particles, grid::SolidBoundary<T, D>* solid,
                       const SeedingOptions& options, double time, Workspace& workspace);

}  // namespace meniscus::surface
