#include "meniscus/fluids/particles/surface/particle_surface.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/particles/surface/carried_distance.hpp"
#include "meniscus/fluids/particles/surface/distance_fits.hpp"
#include "meniscus/fluids/particles/surface/flag_spread.hpp"
#include "meniscus/fluids/particles/surface/surface_evaluation.hpp"
#include "meniscus/fluids/particles/window_particles.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace meniscus::fluids {
namespace {

using Flag = std::uint8_t;

/// Largest radius, support and band of spheres, in cells: twice this is how far searches go.
constexpr double max_support = 8.0;

/// Cells around one that must all hold particles for it to be deep in the liquid, whatever the kernels are.
constexpr Index deep_layers = 2;

/// The same for carried distances: the level set has its slope as deep as its continuation into a solid looks.
constexpr Index carried_layers = 4;

/// Depth, in cells, of liquid at the centre of a cell that particles can miss.
constexpr double thinnest_liquid = 0.25;

/// The same of drops that have no volume on the grid.
constexpr double thinnest_drop = 1e-6;

/// Standard deviations of the number of random particles beyond which it is not by chance.
constexpr double crowded_deviations = 3.0;

/// Layers of air beyond the fits that continue them.
constexpr Index continued_layers = 3;

/// Reaches of the fit of carried distances, in cells: four distances of particles at 2^D per cell, and a larger one for the thin
/// edges of liquid beside solids.
constexpr std::array carried_reaches = {2, max_fit_reach};

/// Whether a cell is the one to which a particle at x belongs.
template <int D>
bool belongs_to(const ParticleSides<D>& sides, Index i, const std::array<double, D>& x, const Coord<D>& cell) {
  if (sides.home(i) == ParticleSides<D>::none) return false;
  const Coord<D> offset = ParticleSides<D>::offset_of(sides.home(i));
  for (std::size_t d = 0; d < D; ++d)
    if (static_cast<Index>(std::floor(x[d])) + offset[d] != cell[d]) return false;
  return true;
}

/// Whether a cell beside a wall, to which the one next to it may not be open, sees liquid around a corner; `phi` in C order.
template <int D>
bool touches_liquid(const ParticleSides<D>& sides, const double* phi, const Coord<D>& cell) {
  const CellSight<D> sight(&sides, cell, 1);
  if (sight.sees_all()) return false;
  for (int k = 0; k < ParticleSides<D>::around; ++k) {
    const Coord<D> offset = ParticleSides<D>::offset_of(k);
    Index number = 0;
    for (std::size_t d = 0; d < D && number >= 0; ++d) {
      const Index at = grid::image_of_cell<D>(sides.grid(), static_cast<int>(d), cell[d] + offset[d]);
      number = at < 0 ? -1 : number * sides.grid().shape()[d] + at;
    }
    if (number >= 0 && phi[number] <= 0.0 && sight.sees(offset)) return true;
  }
  return false;
}

/// Cells that hold a particle but neither are nor touch liquid, become liquid as if the particle was a sphere around the cell.
/// `radius`: of the sphere, in cells; zero makes them liquid of no volume.
template <int D>
void cover_drops(const SurfaceEvaluation<D>& evaluation, double radius, double* before, double* phi) {
  const BlockCells<D>& cells = evaluation.cells;
  const ParticleSides<D>* sides = evaluation.sides;
  cells.exchange(before);
  cells.for_each(*evaluation.particles.window, 2048, [&](const Coord<D>& c, Index at, Index w) {
    phi[at] = before[at];
    if (before[at] <= 0.0 || !evaluation.holds(w)) return;
    for (int d = 0; d < D; ++d)
      for (const Index o : {-1, 1})
        if (const Index near = cells.neighbour(c, at, d, o); near >= 0 && before[near] <= 0.0 && evaluation.open(c, d, o)) return;
    const Coord<D> cell = cells.in_domain(c);
    const Vec<double, D> y = evaluation.center(cell);
    if (sides && touches_liquid<D>(*sides, before, cell)) return;
    if (radius == 0.0) {
      phi[at] = -thinnest_drop;
      return;
    }
    if (sides) {
      grid::for_each_neighbor<D>(evaluation.particles, cell, 0, 1,
                                 [&](Index i, const std::array<double, D>& x, const auto& scale) {
                                   const bool mirrored = std::ranges::any_of(scale, [](double s) { return s < 0; });
                                   if (!mirrored && belongs_to<D>(*sides, i, x, cell))
                                     phi[at] = std::min({phi[at], std::sqrt(evaluation.squared(y, x)) - radius, -thinnest_drop});
                                 });
      return;
    }
    const Index* starts = evaluation.particles.starts;
    for (Index p = starts[w]; p < starts[w + 1]; ++p) {
      const double r = (Eigen::Map<const Vec<double, D>>(evaluation.particles.positions + p * D) - y).norm();
      phi[at] = std::min(phi[at], r - radius);
    }
  });
}

/// Where the level set is fitted to carried distances, and where it continues the fits.
enum Fit : Flag { settled, fitted, beyond };

/// Air beyond the fits continues them linearly, layer by layer, so that a surface meets a solid at the angle that it has beside
/// it. It stays air, but for cells that the surface just covers.
template <int D>
void continue_fits(const SurfaceEvaluation<D>& evaluation, const grid::SearchWindow<D>& window, Flag* fits, Flag* scratch,
                   double* phi) {
  const BlockCells<D>& cells = evaluation.cells;
  for (Index layer = 0; layer < continued_layers; ++layer) {
    cells.exchange(fits);
    cells.exchange(phi);
    cells.for_each(window, 4096, [&](const Coord<D>& c, Index at, Index) {
      scratch[at] = fits[at];
      if (fits[at] != beyond) return;
      double sum = 0.0;
      int found = 0;
      for (int d = 0; d < D; ++d)
        for (const Index side : {-1, 1}) {
          const Index near = cells.neighbour(c, at, d, side);
          if (near < 0 || fits[near] != fitted) continue;
          const Index far = cells.neighbour(c, at, d, 2 * side);
          if (far < 0 || fits[far] != fitted || !evaluation.open(c, d, 2 * side)) continue;
          sum += 2.0 * phi[near] - phi[far];
          ++found;
        }
      if (!found || !(sum > -found * thinnest_liquid)) return;
      phi[at] = sum / found;
      scratch[at] = fitted;
    });
    parallel_for(0, cells.size(), 1 << 16,
                 [&](Index begin, Index end) { std::copy(scratch + begin, scratch + end, fits + begin); });
  }
}

template <int D>
void require_options(const ParticleSurfaceOptions& options, double h) {
  const double band = options.band / h;
  const double support = options.support / h;
  if (options.method == ParticleSurface::density)
    require(options.per_cell > 0.0 && std::isfinite(options.per_cell), "per_cell must be positive and finite, not ",
            options.per_cell);
  require(band > 0.0 && std::isfinite(band), "band must be positive and finite, not ", options.band);
  if (options.method != ParticleSurface::anisotropic)
    require(options.radius > 0.0 && options.radius / h <= max_support, "radius must be positive and at most ", max_support,
            " cells, not ", options.radius);
  if (options.method == ParticleSurface::spheres)
    require(band <= max_support, "with spheres the band must be at most ", max_support, " cells, not ", options.band);
  else
    require(support > 0.0 && support <= max_support, "support must be positive and at most ", max_support, " cells, not ",
            options.support);
}

/// Cells that a search around a centre of a cell goes to find what is closer than a distance (cells).
Index reach_of(double distance) { return static_cast<Index>(std::floor(distance + 0.5)); }

/// How far an evaluation looks, in cells.
template <int D>
struct Reaches {
  Index reach;    ///< a cell without particles within this is air
  Index deep;     ///< a cell with full cells all around as far as this is deep liquid
  bool gaps;      ///< spheres that leave gaps: there is no deep liquid
  Index kernel;   ///< around a particle, for its kernel
  Index carried;  ///< for the fit of distances

  explicit Reaches(const ParticleSurfaceOptions& options, double h) {
    const double radius = options.radius / h, support = options.support / h;
    const bool spheres = options.method == ParticleSurface::spheres, anisotropic = options.method == ParticleSurface::anisotropic;
    const bool dense = options.method == ParticleSurface::density;
    const double longest = spheres ? radius + options.band / h : anisotropic ? 2.0 * support : dense ? 1.0 : support;
    reach = std::min(reach_of(longest), grid::max_reach);
    gaps = spheres && radius < 0.5 * std::sqrt(static_cast<double>(D));
    deep = options.carried ? carried_layers : spheres ? 1 : anisotropic ? deep_layers : reach;
    kernel = anisotropic ? static_cast<Index>(std::ceil(support)) : 0;
    carried = options.carried ? max_fit_reach + 1 : 0;
  }

  /// Cells around one whose kernels are needed where that is not deep in the liquid.
  Index around_kernels() const { return std::min(deep + reach, grid::max_reach + deep_layers); }
  /// Layers of cells around a block whose particles take part.
  Index layers() const { return std::max({reach + kernel, kernel > 0 ? around_kernels() : deep, carried}); }
};

/// The kernels of all particles that are not deep in the liquid; returns how far those of the own particles of any block reach.
template <int D>
double find_kernels(const SurfaceEvaluation<D>& evaluation, const Reaches<D>& reaches, const Flag* full,
                    AnisotropicKernel<D>* kernels) {
  const grid::Grid<D>& grid = evaluation.grid;
  const grid::SearchWindow<D>& window = *evaluation.particles.window;
  const Index* starts = evaluation.particles.starts;
  const double farthest = parallel_reduce(
      Index{0}, product<D>(window.shape()), Index{256}, 0.0,
      [&](Index begin, Index end) {
        double most = 0.0;
        for (Index w = begin; w < end; ++w) {
          if (full[w] || starts[w] == starts[w + 1]) continue;
          Coord<D> cell;
          Index beyond = 0, rest = w;
          for (int d = D - 1; d >= 0; --d) {
            const Index a = d;
            const Index place = rest % window.shape()[a];
            rest /= window.shape()[a];
            cell[a] = grid::lattice_cell(grid, d, window.cell(d, place));
            beyond = std::max(beyond, window.layers_beyond(d, place));
          }
          // No own cell looks at those farther out, whose neighbours are not all there.
          if (beyond > reaches.reach) continue;
          for (Index i = starts[w]; i < starts[w + 1]; ++i) {
            kernels[i] =
                anisotropic_kernel<D>(evaluation.particles, cell, evaluation.particles.positions + i * D, evaluation.support);
            if (beyond == 0) most = std::max(most, kernels[i].reach);
          }
        }
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
  return parallel::global_max(*grid.communicator(), farthest);
}

/// The level set of all cells, in cells.
template <int D>
void evaluate(const SurfaceEvaluation<D>& evaluation, ParticleSurface method, Reaches<D> reaches, Index particles, double* phi,
              Workspace& workspace) {
  const grid::Grid<D>& grid = evaluation.grid;
  const grid::SearchWindow<D>& window = *evaluation.particles.window;
  const BlockCells<D>& cells = evaluation.cells;
  const Index searched = product<D>(window.shape());
  const bool spheres = method == ParticleSurface::spheres;
  const bool anisotropic = method == ParticleSurface::anisotropic;
  const bool carried = evaluation.distances != nullptr;
  const bool dense = method == ParticleSurface::density;
  const double deepest = anisotropic || carried ? -evaluation.band : -std::min(dense ? 1.0 : evaluation.radius, evaluation.band);
  const auto flags = workspace.take<Flag>(3 * searched);
  Flag* some = flags.data();
  Flag* full = some + searched;
  Flag* scratch = full + searched;
  const auto kinds = workspace.take<Flag>(carried ? 2 * cells.size() : 0);
  const auto occupy = [&](Flag* to) {
    parallel_for(0, searched, 1 << 15, [&](Index begin, Index end) {
      for (Index c = begin; c < end; ++c) to[c] = evaluation.holds(c);
    });
  };

  Workspace::Lease<AnisotropicKernel<D>> kernels;
  if (anisotropic) {
    kernels = workspace.take<AnisotropicKernel<D>>(particles);
    occupy(full);
    spread_flags(grid, window, full, scratch, reaches.around_kernels(), true);
    reaches.reach = std::min(reaches.reach, reach_of(find_kernels(evaluation, reaches, full, kernels.data())));
  }
  const Index reach = reaches.reach;

  occupy(some);
  spread_flags(grid, window, some, scratch, reach, false);
  if (reaches.gaps) {
    std::fill_n(full, searched, Flag{0});
  } else {
    occupy(full);
    spread_flags(grid, window, full, scratch, reaches.deep, true);
  }
  const auto wanted = workspace.take<Flag>(cells.size());
  std::fill_n(wanted.data(), cells.size(), Flag{0});
  cells.for_each(window, 8192, [&](const Coord<D>&, Index at, Index w) { wanted.data()[at] = some[w] && !full[w]; });
  const auto hats = workspace.take<double>(dense ? cells.size() : 0);
  if (dense) sum_hats(evaluation.particles, cells, wanted.data(), hats.data());
  const bool by_cell = carried && D == 3;
  const auto fits = workspace.take<DistanceFit>(by_cell ? cells.size() : 0);
  for (const int fit_reach : carried_reaches) {
    if (!by_cell) break;
    fit_distances(evaluation.particles, evaluation.distances, cells, fit_reach, wanted.data(), fits.data(), workspace);
    cells.for_each(window, 8192, [&](const Coord<D>&, Index at, Index) {
      wanted.data()[at] = wanted.data()[at] && !(fits.data()[at].trust > 0.0);
    });
  }
  cells.for_each(window, 512, [&](const Coord<D>& c, Index at, Index w) {
    Flag kind = settled;
    if (!some[w]) {
      phi[at] = evaluation.band;
      kind = beyond;
    } else if (full[w]) {
      phi[at] = deepest;
    } else {
      const Coord<D> cell = cells.in_domain(c);
      const CellSight<D> sight(evaluation.sides, cell, carried ? max_fit_reach + 1 : std::min(reach, CellSight<D>::most));
      DistanceFit fit;
      const bool fitted_before = by_cell && sight.sees_all();
      if (fitted_before) fit = fits.data()[at];
      for (const int fit_reach : carried_reaches)
        if (carried && !fitted_before && !(fit.trust > 0.0))
          fit = fit_distance<D>(evaluation.particles, evaluation.distances, fit_reach, cell, sight);
      double value = fit.value;
      if (dense) {
        // Beside walls few particles tell the distance, and where they are: they bound it if there are clearly too many.
        const double open = evaluation.space.around(c, at, sight);
        const double sum = sight.sees_all() ? hats.data()[at] : evaluation.hats(cell, sight);
        const double density = sum / (evaluation.per_cell * open), told = distance_of_density(density);
        const bool crowded = (density - 1.0) * std::sqrt(evaluation.per_cell * open) > crowded_deviations;
        value = fit.trust > 0.0 ? told + fit.trust * (within_open(fit.value, told, open == 1.0 || crowded, open == 1.0) - told)
                                : told;
      } else if (fit.trust < 1.0) {
        value = spheres       ? evaluation.spheres(cell, reach)
                : anisotropic ? evaluation.anisotropic(kernels.data(), cell, reach)
                              : evaluation.average(cell, reach, sight);
        if (fit.trust > 0.0) value += fit.trust * (fit.value - value);
      }
      phi[at] = std::clamp(value, -evaluation.band, evaluation.band);
      kind = fit.trust == 1.0 ? fitted : value > 0.0 && !evaluation.holds(w) ? beyond : settled;
    }
    if (carried) kinds.data()[at] = kind;
  });
  if (carried) continue_fits(evaluation, window, kinds.data(), kinds.data() + cells.size(), phi);
}

}  // namespace

template <class T, int D>
void particle_levelset(grid::ParticleSet& particles, grid::Field<T, D>& phi, const ParticleSurfaceOptions& options,
                       Workspace& workspace, const grid::ThinWalls<D>* walls, const grid::Field<double, D>* solid) {
  const grid::Grid<D>& grid = phi.grid();
  const double h = grid.spacing();
  require(phi.stagger() == grid::Stagger<D>::cell(), "the level set must be at the centres of cells");
  require_options<D>(options, h);
  const Reaches<D> reaches(options, h);
  WindowParticles<D> around(grid, reaches.layers());
  around.template gather<T>(particles, options.carried, workspace);
  const BlockCells<D> cells(grid);
  std::optional<ParticleSides<D>> sides;
  if (walls) {
    require(walls->grid() == grid, "the walls must have the grid of the level set");
    require((options.method == ParticleSurface::average || options.method == ParticleSurface::density) &&
                reaches.reach <= CellSight<D>::most,
            "beside thin walls the surface must be of densities, or the average with a support below ", CellSight<D>::most,
            " cells");
    sides.emplace(*walls, around.cells(), around.count(), workspace);
  }
  const OpenSpace<D> space(cells, around.window(), options.method == ParticleSurface::density ? solid : nullptr, workspace);
  const SurfaceEvaluation<D> evaluation{grid,
                                        around.cells(),
                                        options.radius / h,
                                        options.support / h,
                                        options.band / h,
                                        options.per_cell,
                                        around.distances(),
                                        cells,
                                        sides ? &*sides : nullptr,
                                        space};

  const auto values = workspace.take<double>(cells.size());
  evaluate(evaluation, options.method, reaches, around.count(), values.data(), workspace);
  const auto covered = workspace.take<double>(options.cover ? cells.size() : 0);
  const double drop = options.method == ParticleSurface::density ? 0.0 : 0.5 * std::sqrt(static_cast<double>(D)) * (1.0 + 1e-6);
  if (options.cover) cover_drops(evaluation, drop, values.data(), covered.data());
  const double* result = options.cover ? covered.data() : values.data();
  const NoInterrupts commit;
  const grid::FieldView<T, D> out = phi.view();
  grid::parallel_rows<D>(out.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> first = grid::row_start<D>(out.extents, r);
      T* to = out.at(first);
      const double* from = result + cells.place(first);
      for (Index k = 0; k < out.extents[D - 1]; ++k) to[k] = static_cast<T>(h * from[k]);
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                         \
  template void particle_levelset<T, D>(grid::ParticleSet&, grid::Field<T, D>&, const ParticleSurfaceOptions&, Workspace&, \
                                        const grid::ThinWalls<D>*, const grid::Field<double, D>*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
