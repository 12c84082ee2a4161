/// Order of particles that does not depend on how they came, for what is done to them one after the other.
#pragma once

#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>
#include <vector>

namespace meniscus::surface {

/// Cell (linear index in the domain), id and index of a particle.
struct PlacedParticle {
  Index cell, id, index;
};

/// Particles of a set by (cell, id).
template <class T, int D>
std::vector<PlacedParticle> ordered_by_cell(const grid::Grid<D>& grid, grid::ParticleSet& particles, const Index* list, Index n) {
  const T* const x = grid::particle_positions<T, D>(particles);
  const auto* const ids = reinterpret_cast<const Index*>(particles.ids().data.data());
  std::vector<PlacedParticle> order(n);
  for (Index k = 0; k < n; ++k) {
    const Index i = list[k];
    order[k] = {grid::cell_index<D>(grid, grid::locate_in_domain(grid, x + i * D).cell), ids[i], i};
  }
  std::sort(order.begin(), order.end(),
            [](const PlacedParticle& a, const PlacedParticle& b) { return a.cell != b.cell ? a.cell < b.cell : a.id < b.id; });
  return order;
}

}  // namespace meniscus::surface
