#include "meniscus/fluids/particles/surface/carried_distance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/particles/velocity_probe.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/ghost_particles.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

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

using PointValues = std::array<double, grid::located_points>;

/// Multilinear interpolation of a level set on cells at n points that were located together. `goes_on`: beyond the outermost
/// centres with its slope; else with ghosts, which are filled.
template <bool goes_on, class T, int D>
MENISCUS_INLINE void interpolate(const grid::Field<T, D>& levelset, const grid::LocatedPoints<D>& at, Index n,
                                 PointValues& values) {
  const grid::Grid<D>& grid = levelset.grid();
  const auto view = levelset.view();
  std::array<PointValues, D> upper;
  std::array<Index, grid::located_points> place;
  place.fill(0);
  for (std::size_t d = 0; d < D; ++d) {
    const auto last = static_cast<std::int32_t>(grid.shape()[d] - 1);
    const bool clamped = goes_on && last > 0 && grid::period_of(grid, static_cast<int>(d)) == 0;
    const std::int32_t least = clamped ? 0 : -1, most = clamped ? last - 1 : last;
    const Index stride = view.strides[d], first = grid.first_cell()[d];
    for (Index l = 0; l < n; ++l) {
      const double offset = at.offset[d][l];
      const std::int32_t lower = offset < 0.5 ? at.cell[d][l] - 1 : at.cell[d][l];
      const std::int32_t inner = lower < least ? least : lower > most ? most : lower;
      upper[d][l] = (offset < 0.5 ? offset + 0.5 : offset - 0.5) + static_cast<double>(lower - inner);
      place[l] += (inner - first) * stride;
    }
  }
  for (Index l = 0; l < n; ++l) {
    const T* const p = view.origin + place[l];
    std::array<double, 1 << D> v;
    for (std::size_t q = 0; q < v.size(); ++q) {
      Index offset = 0;
      for (std::size_t d = 0; d < D; ++d) offset += ((q >> d) & 1) ? view.strides[d] : 0;
      v[q] = static_cast<double>(p[offset]);
    }
    for (std::size_t d = D, half = v.size() / 2; d-- > 0; half /= 2)
      for (std::size_t q = 0; q < half; ++q) v[q] += upper[d][l] * (v[q + half] - v[q]);
    values[l] = v[0];
  }
}

/// Calls body(first, n, their locations) for runs of particles, in parallel.
template <class T, int D, class Body>
void for_each_located_run(const grid::Grid<D>& grid, const T* x, Index count, Body&& body) {
  parallel_for(0, count, carried_piece, [&](Index begin, Index end) {
    grid::LocatedPoints<D> at;
    for (Index first = begin; first < end; first += grid::located_points) {
      const Index n = std::min(grid::located_points, end - first);
      simd_dispatch([&] { grid::locate_in_domain(grid, x + first * D, n, at); });
      body(first, n, at);
    }
  });
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
    const T told = static_cast<T>(-grid_.spacing());
    const auto for_all = [&](Index margin, auto&& set) {
      parallel_for(margin, size - margin, 1 << 15, [&](Index begin, Index end) {
        simd_dispatch([&] {
#pragma GCC ivdep
          for (Index k = begin; k < end; ++k) set(k);
        });
      });
    };
    origin_ = levelset.view().origin - phi - dot<D>(grid_.first_cell(), strides_);
    // Along one axis after the other, in all that is stored: what wraps around a row comes from ghosts beyond the first ones.
    std::uint8_t* to = flags_.data() + (D % 2) * size;
    std::uint8_t* from = flags_.data() + (1 - D % 2) * size;
    for_all(0, [&](Index k) { to[k] = phi[k] == told; });
    for (const Index s : strides_) {
      std::swap(to, from);
      for_all(s, [to, from, s](Index k) { to[k] = from[k - s] & from[k] & from[k + s]; });
    }
  }

  using Flags = std::array<std::uint8_t, grid::located_points>;
  /// Sets, for n points that were located together, whether their cells and those around are full; returns whether all are.
  MENISCUS_INLINE bool all_around(const grid::LocatedPoints<D>& at, Index n, Flags& flags) const {
    std::array<Index, grid::located_points> place;
    place.fill(origin_);
    for (std::size_t d = 0; d < D; ++d) {
      const Index s = strides_[d];
      for (Index l = 0; l < n; ++l) place[l] += at.cell[d][l] * s;
    }
    std::uint8_t all = 1;
    for (Index l = 0; l < n; ++l) all &= flags[l] = flags_.data()[place[l]];
    return all != 0;
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
  grid::fill_ghosts_on_lines(region, 0.0);
  if (before) grid::fill_ghosts_on_lines(*before, 0.0);
  const grid::Field<T, D>& old = before ? *before : region;
  for_each_located_run(region.grid(), x, particles.size(), [&](Index first, Index n, const grid::LocatedPoints<D>& at) {
    PointValues of_region, of_old;
    simd_dispatch([&] {
      interpolate<true>(region, at, n, of_region);
      interpolate<true>(old, at, n, of_old);
    });
    for (Index l = 0; l < n; ++l) {
      T& d = distance[first + l];
      d = known_distance<T>(std::min(d == T(0) ? of_old[l] : static_cast<double>(d), of_region[l]));
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
  for_each_located_run(grid, x, particles.size(), [&](Index first, Index n, const grid::LocatedPoints<D>& at) {
    typename FullCells<T, D>::Flags around;
    PointValues told;
    simd_dispatch([&] {
      if (!full.all_around(at, n, around)) interpolate<false>(positions_levelset, at, n, told);
    });
    for (Index l = 0; l < n; ++l) follow(first + l, around[l] ? -grid.spacing() : told[l]);
  });
}

template <class T, int D>
void add_to_distances(grid::ParticleSet& particles, grid::Field<T, D>& levelset, double factor, Workspace& workspace) {
  require_cells(levelset);
  require_in_window<D>(particles, levelset.grid(), grid::CellWindow<D>(levelset.grid(), 0));
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = distances_of<T, D>(particles);
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const FullCells<T, D> full(levelset, workspace);
  const double h = levelset.grid().spacing();
  for_each_located_run(levelset.grid(), x, particles.size(), [&](Index first, Index n, const grid::LocatedPoints<D>& at) {
    typename FullCells<T, D>::Flags around;
    PointValues value;
    bool all = true;
    simd_dispatch([&] {
      all = full.all_around(at, n, around);
      if (!all) interpolate<true>(levelset, at, n, value);
    });
    if (all) return;
    for (Index l = 0; l < n; ++l)
      if (T& d = distance[first + l]; !around[l]) d = known_distance<T>(static_cast<double>(d) + factor * (value[l] + h));
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
