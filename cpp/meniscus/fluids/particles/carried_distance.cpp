#include "meniscus/fluids/particles/carried_distance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/particles/velocity_probe.hpp"
#include "meniscus/grid/particles/ghost_particles.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::fluids {
namespace {

constexpr Index carried_piece = 2048;

/// Least spread of particles, in squared cells, across which a slope can be fitted.
constexpr double least_spread = 1e-3;

/// A fit is trusted where particles agree on it, and where its slope is that of a distance, 1: fully up to the first deviation,
/// not at all from the second.
struct Deviations {
  double full, none;
  double trust(double deviation) const { return std::clamp((none - deviation) / (none - full), 0.0, 1.0); }
};
constexpr Deviations of_particles{0.05, 0.15};  ///< root mean square, in cells
constexpr Deviations of_slope{0.1, 0.3};

/// Where all distances are deeper than this, in cells, particles need not agree: only the sign matters, and regions know their
/// distance near their surface alone.
constexpr double deep_distance = 1.0;

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

}  // namespace

template <int D>
DistanceFit<D> fit_distance(const grid::CellParticles<D>& particles, const double* distances, const Coord<D>& cell,
                            double support, const CellSight<D>* sight) {
  using V = Vec<double, D>;
  V y;
  for (int d = 0; d < D; ++d) y[d] = static_cast<double>(cell[d]) + 0.5;
  const double inverse = 1.0 / (support * support);
  double weights = 0.0, sum = 0.0, squares = 0.0, largest = -std::numeric_limits<double>::infinity();
  V mean = V::Zero(), moment = V::Zero();
  Eigen::Matrix<double, D, D> spread = Eigen::Matrix<double, D, D>::Zero();
  const auto reach = static_cast<Index>(std::floor(support + 0.5));
  grid::for_each_neighbor<D>(particles, cell, 0, reach, [&](Index i, const std::array<double, D>& x, const auto& scale) {
    // Images behind a side would turn the surface there.
    for (const double s : scale)
      if (s < 0.0) return;
    if (sight && !sight->sees(i, x, scale)) return;
    const V r = Eigen::Map<const V>(x.data()) - y;
    const double s = r.squaredNorm() * inverse;
    if (s >= 1.0) return;
    const double w = (1.0 - s) * (1.0 - s) * (1.0 - s);
    weights += w;
    sum += w * distances[i];
    largest = std::max(largest, distances[i]);
    squares += w * distances[i] * distances[i];
    mean += w * r;
    moment += w * distances[i] * r;
    spread += w * r * r.transpose();
  });
  DistanceFit<D> fit;
  if (!(weights > 0.0)) return fit;
  mean /= weights;
  sum /= weights;
  moment = moment / weights - sum * mean;
  spread = spread / weights - mean * mean.transpose();
  const bool deep = largest < -deep_distance;
  if (deep) fit = {1.0, sum};
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix<double, D, D>> axes;
  axes.computeDirect(spread, Eigen::EigenvaluesOnly);
  if (!(axes.eigenvalues()[0] > least_spread)) return fit;
  const V slope = spread.inverse() * moment;
  const double variance = squares / weights - sum * sum - slope.dot(moment);
  const double trust = of_particles.trust(std::sqrt(std::max(variance, 0.0))) * of_slope.trust(std::abs(slope.norm() - 1.0));
  const double value = sum - slope.dot(mean);
  if (deep)
    fit.value += trust * (value - sum);
  else
    fit = {trust, value};
  return fit;
}

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
                      const grid::Field<double, D>* solid, double dt, double time, const grid::ThinWalls<D>* walls) {
  require_cells(positions_levelset);
  const grid::Grid<D>& grid = positions_levelset.grid();
  require_in_window<D>(particles, grid, grid::CellWindow<D>(grid, 0));
  require(velocity.grid() == grid, "the velocity must have the grid of the level set");
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = distances_of<T, D>(particles);
  positions_levelset.fill_ghosts(0.0);
  velocity.fill_ghosts(time);
  const grid::FieldProbe<T, D> surface(positions_levelset);
  const VelocityProbe<T, D> flow(velocity);
  std::optional<grid::FieldProbe<double, D>> wall;
  if (solid) wall.emplace(*solid);
  const double near = solid_reach * grid.spacing();
  parallel_for(0, particles.size(), carried_piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Vec<double, D> y = position<T, D>(x, i);
      const Index clear = walls ? walls->clearance(y) : wall_reach + 1;
      if (clear == 0) continue;
      const bool beside = clear <= wall_reach || (wall && wall->value(y) < near);
      const auto before = static_cast<double>(distance[i]);
      const double strain = before == 0.0 ? 0.0 : flow.strain_rate(y);
      distance[i] = known_distance<T>(followed_distance(before, surface.value(y), strain, dt, grid.spacing(), beside));
    }
  });
}

template <class T, int D>
void add_to_distances(grid::ParticleSet& particles, grid::Field<T, D>& levelset, double factor) {
  require_cells(levelset);
  require_in_window<D>(particles, levelset.grid(), grid::CellWindow<D>(levelset.grid(), 0));
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = distances_of<T, D>(particles);
  levelset.fill_ghosts(0.0);
  parallel_for(0, particles.size(), carried_piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      distance[i] = known_distance<T>(static_cast<double>(distance[i]) + factor * value_at(levelset, position<T, D>(x, i)));
  });
}

template DistanceFit<2> fit_distance<2>(const grid::CellParticles<2>&, const double*, const Coord<2>&, double,
                                        const CellSight<2>*);
template DistanceFit<3> fit_distance<3>(const grid::CellParticles<3>&, const double*, const Coord<3>&, double,
                                        const CellSight<3>*);
#define MENISCUS_INSTANTIATE(T, D)                                                                                \
  template void set_distances<T, D>(grid::ParticleSet&, grid::Field<T, D>&, grid::Field<T, D>*);                  \
  template void update_distances<T, D>(grid::ParticleSet&, grid::Field<T, D>&, grid::MacField<T, D>&,             \
                                       const grid::Field<double, D>*, double, double, const grid::ThinWalls<D>*); \
  template void add_to_distances<T, D>(grid::ParticleSet&, grid::Field<T, D>&, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
