/// Seeding of liquid particles: a region is filled with a given number of particles per cell, one in each part of a cell.
///
/// The cells are those of the grid, moved by an offset. If the offset moves with the liquid of a source, new particles line up
/// with those emitted before, and their number matches those that the flow has carried away. The position of a particle in its
/// part depends on the cell alone.
#pragma once

#include "meniscus/fluids/particles/liquid_region.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

template <int D>
struct LiquidSeeding {
  Index per_cell = 1 << D;
  /// Largest offset of a particle from the middle of its part, relative: from 0 to 1. If the number per cell gives no even parts,
  /// a particle is anywhere in its cell.
  double jitter = 0.0;
  std::uint64_t seed = 0;
  /// Offset of the cells that are filled, m.
  Vec<double, D> offset = Vec<double, D>::Zero();
  /// Velocity of the new particles, m/s.
  Vec<double, D> velocity = Vec<double, D>::Zero();
};

/// Fills a region with particles, and returns the number of new ones. `phi`: the region on cells, <= 0 inside, a distance near
/// its surface or a bound of it; `inside`: the region exactly. None are put into the solid (level set on nodes, or nullptr).
/// Nothing is changed if anything is thrown.
template <class T, int D>
Index seed_liquid(grid::ParticleSet& particles, grid::Field<T, D>& phi, const PointTest& inside, const LiquidSeeding<D>& seeding,
                  grid::Field<double, D>* solid, Workspace& workspace);

/// The same for a region that is a level set on cells, interpolated linearly.
template <class T, int D>
Index seed_liquid(grid::ParticleSet& particles, grid::Field<T, D>& levelset, const LiquidSeeding<D>& seeding,
                  grid::Field<double, D>* solid, Workspace& workspace);

}  // namespace meniscus::fluids
