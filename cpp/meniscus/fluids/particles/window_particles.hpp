/// The particles of a block and around it, as evaluations of their neighbourhoods read them.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/particles/cell_neighbors.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::fluids {

template <int D>
class WindowParticles {
 public:
  /// `layers`: of cells around the block, along the axes that are cut.
  WindowParticles(const grid::Grid<D>& grid, Index layers) : grid_(grid), window_(grid, layers), layers_(layers) {}

  /// Collective. Reads the particles, which are sorted by cell, and those of other blocks. `carried`: with their distances
  /// (column 'distance').
  template <class T>
  void gather(grid::ParticleSet& particles, bool carried, Workspace& workspace);

  const grid::SearchWindow<D>& window() const { return window_; }
  /// By cell of the window: the first particle in it; and their number.
  const Index* starts() const { return starts_.data(); }
  Index count() const { return count_; }
  grid::CellParticles<D> cells() const { return {&grid_, &window_, starts_.data(), positions_.data()}; }
  /// In cells; nullptr where they were not asked for.
  const double* distances() const { return distances_.data(); }

 private:
  const grid::Grid<D>& grid_;
  grid::SearchWindow<D> window_;
  Index layers_, count_ = 0;
  Workspace::Lease<Index> starts_;
  Workspace::Lease<double> positions_, distances_;
};

}  // namespace meniscus::fluids
