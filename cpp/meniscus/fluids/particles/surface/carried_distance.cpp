#include "meniscus/fluids/particles/surface/carried_distance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/particles/velocity_probe.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/particles/ghost_particles.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::fluids {
namespace {

constexpr Index carried_piece = 2048;

/// What positions leave open of the distance, in cells: corners are rounded, and particles are half a cell apart.
constexpr double open_distance = 0.6;

/// Depth, in cells, from which a density tells no more than that it is full.
constexpr double full_depth = 0.75;

/// Beside a solid, as far as fits reach, in cells.
constexpr double solid_reach = 2.5;

/// The same beside a thin wall: clearance of a cell.
constexpr Index wall_reach = 3;

template <class T, int D>
T* distances_of(grid::ParticleSet& particles) {
  return grid::particle_values<T>(particles, "distance", 1);
}

template <class T, int D>
Vec<double, D> position(const T* x, Index i) {
  Vec<double, D> y;
  for (int d = 0; d < D; ++d) y[d] = static_cast<double>(x[i * D + d]);
  return y;
}

template <class T, int D>
void require_cells(const grid::Field<T, D>& levelset) {
  require(levelset.stagger() == grid::Stagger<D>::cell(), "the level set must be at the centres of cells");
}

/// Multilinear interpolation of a level set on cells, that goes on beyond the outermost centres with its slope. Periodic ghosts
/// are filled.
template <class T, int D>
double value_at(const grid::Field<T, D>& levelset, const Vec<double, D>& x) {
  using Stencil = grid::MultilinearStencil<double, D>;
  const grid::Grid<D>& grid = levelset.grid();
  Stencil stencil = Stencil::extrapolating(grid, grid::locate_in_domain(grid, x.data()), grid::Stagger<D>::cell());
  for (std::size_t d = 0; d < D; ++d) stencil.lower[d] -= grid.first_cell()[d];
  const auto view = levelset.view();
  const T* const p = view.at(stencil.lower);
  double value = 0.0;
  for (int q = 0; q < Stencil::corners; ++q)
    value += stencil.weight(q) * static_cast<double>(p[Stencil::offset(q, view.strides)]);
  return value;
}

/// Cells with full ones all around, by a level set from densities, which is -1 cell in these. Ghosts are filled.
template <class T, int D>
class FullCells {
 public:
  FullCells(const grid::Field<T, D>& levelset, Workspace& workspace)
      : grid_(levelset.grid()),
        strides_(levelset.view().strides),
        flags_(workspace.take<std::uint8_t>(2 * levelset.layout().storage_size())) {
    const Index size = levelset.layout().storage_size();
    const T* const phi = levelset.storage().data();
    std::uint8_t* const full = flags_.data() + size;
    const T told = static_cast<T>(-grid_.spacing());
    parallel_for(0, size, 1 << 14, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) full[k] = phi[k] == told;
    });
    const Index origin = levelset.view().origin - phi;
    origin_ = origin - dot<D>(grid_.first_cell(), strides_);
    const Index length = levelset.view().extents[D - 1];
    grid::parallel_rows<D>(levelset.view().extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Index row = origin + dot<D>(grid::row_start<D>(levelset.view().extents, r), strides_);
        std::uint8_t* const to = flags_.data() + row;
        std::fill_n(to, length, std::uint8_t{1});
        for (int k = 0; k < (D == 2 ? 9 : 27); ++k) {
          const std::uint8_t* const from = full + row + dot<D>(grid::block_offset<D>(k), strides_);
          for (Index c = 0; c < length; ++c) to[c] &= from[c];
        }
      }
    });
  }

  /// Calls body(i, whether the cells around the one of particle i, and it, are full).
  template <class Body>
  void for_each_particle(const T* x, Index count, Body&& body) const {
    constexpr Index lanes = 64;
    parallel_for(0, count, carried_piece, [&](Index begin, Index end) {
      std::array<Index, lanes> at;
      for (Index first = begin; first < end; first += lanes) {
        const Index n = std::min(lanes, end - first);
        simd_dispatch([&] {
          for (Index l = 0; l < n; ++l)
            at[l] = origin_ + dot<D>(grid::locate_in_domain(grid_, x + (first + l) * D).cell, strides_);
        });
        for (Index l = 0; l < n; ++l) body(first + l, flags_.data()[at[l]] != 0);
      }
    });
  }

 private:
  const grid::Grid<D>& grid_;
  Coord<D> strides_;
  Index origin_ = 0;  ///< of the first cell of the domain, if it were stored
  Workspace::Lease<std::uint8_t> flags_;
};

}  // namespace

template <class T, int D>
void set_distances(grid::ParticleSet& particles, grid::Field<T, D>& region, grid::Field<T, D>* before) {
  require_cells(region);
  require_in_window<D>(particles, region.grid(), grid::CellWindow<D>(region.grid(), 0));
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = distances_of<T, D>(particles);
  region.fill_ghosts(0.0);
  if (before) before->fill_ghosts(0.0);
  const grid::Field<T, D>& old = before ? *before : region;
  parallel_for(0, particles.size(), carried_piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Vec<double, D> y = position<T, D>(x, i);
      const double present = distance[i] == T(0) ? value_at(old, y) : static_cast<double>(distance[i]);
      distance[i] = known_distance<T>(std::min(present, value_at(region, y)));
    }
  });
}

double within_open(double distance, double told, bool above, bool below) {
  if (above) distance = std::min(distance, told + open_distance);
  return below && told > -full_depth ? std::max(distance, told - open_distance) : distance;
}

double followed_distance(double distance, double told, double strain, double dt, double spacing, bool beside_wall) {
  if (distance == 0.0) return told;
  const double part = -std::expm1(-strain * dt);
  const double to = told > -full_depth * spacing ? told : std::min(distance, told);
  return std::min(
      spacing * within_open((distance + part * (to - distance)) / spacing, told / spacing, !beside_wall, !beside_wall), 0.0);
}

template <class T, int D>
void update_distances(grid::ParticleSet& particles, grid::Field<T, D>& positions_levelset, grid::MacField<T, D>& velocity,
                      const grid::Field<double, D>* solid, double dt, double time, Workspace& workspace,
                      const grid::ThinWalls<D>* walls) {
  require_cells(positions_levelset);
  const grid::Grid<D>& grid = positions_levelset.grid();
  require_in_window<D>(particles, grid, grid::CellWindow<D>(grid, 0));
  require(velocity.grid() == grid, "the velocity must have the grid of the level set");
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = distances_of<T, D>(particles);
  positions_levelset.fill_ghosts(0.0);
  velocity.fill_ghosts(time);
  const FullCells<T, D> full(positions_levelset, workspace);
  const grid::FieldProbe<T, D> surface(positions_levelset);
  const VelocityProbe<T, D> flow(velocity);
  std::optional<grid::FieldProbe<double, D>> wall;
  if (solid) wall.emplace(*solid);
  const double near = solid_reach * grid.spacing(), full_told = -full_depth * grid.spacing();
  const auto follow = [&](Index i, double told) {
    const auto before = static_cast<double>(distance[i]);
    // What is full tells no more of a distance below it.
    if (before != 0.0 && before <= told && told <= full_told) return;
    const Vec<double, D> y = position<T, D>(x, i);
    const Index clear = walls ? walls->clearance(y) : wall_reach + 1;
    if (clear == 0) return;
    const bool beside = clear <= wall_reach || (wall && wall->value(y) < near);
    const double strain = before == 0.0 ? 0.0 : flow.strain_rate(y);
    distance[i] = known_distance<T>(followed_distance(before, told, strain, dt, grid.spacing(), beside));
  };
  full.for_each_particle(x, particles.size(), [&](Index i, bool all_around) {
    follow(i, all_around ? -grid.spacing() : surface.value(position<T, D>(x, i)));
  });
}

template <class T, int D>
void add_to_distances(grid::ParticleSet& particles, grid::Field<T, D>& levelset, double factor, Workspace& workspace) {
  require_cells(levelset);
  require_in_window<D>(particles, levelset.grid(), grid::CellWindow<D>(levelset.grid(), 0));
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = distances_of<T, D>(particles);
  levelset.fill_ghosts(0.0);
  const FullCells<T, D> full(levelset, workspace);
  full.for_each_particle(x, particles.size(), [&](Index i, bool all_around) {
    if (all_around) return;
    const double above = value_at(levelset, position<T, D>(x, i)) + levelset.grid().spacing();
    distance[i] = known_distance<T>(static_cast<double>(distance[i]) + factor * above);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template void set_distances<T, D>(grid::ParticleSet&, grid::Field<T, D>&, grid::Field<T, D>*);                              \
  template void update_distances<T, D>(grid::ParticleSet&, grid::Field<T, D>&, grid::MacField<T, D>&,                         \
                                       const grid::Field<double, D>*, double, double, Workspace&, const grid::ThinWalls<D>*); \
  template void add_to_distances<T, D>(grid::ParticleSet&, grid::Field<T, D>&, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
