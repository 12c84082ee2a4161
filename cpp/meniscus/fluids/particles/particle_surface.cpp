#include "meniscus/fluids/particles/particle_surface.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/particles/anisotropic_kernels.hpp"
#include "meniscus/fluids/particles/carried_distance.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/cell_order.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/rows.hpp"

#include <cmath>

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

/// Layers of air beyond the fits that continue them.
constexpr Index continued_layers = 3;

/// Supports of the fit of carried distances, in cells: four distances of particles at 2^D per cell, and a larger one for the thin
/// edges of liquid beside solids.
constexpr std::array carried_supports = {2.5, 3.5};

/// flags[c] = whether all (or any) cells within `reach` of c along every axis have nonzero flags; sides as for neighbours.
template <int D>
void spread(const grid::Grid<D>& grid, Flag* flags, Flag* scratch, Index reach, bool all) {
  const Coord<D>& n = grid.shape();
  const Coord<D> strides = c_strides<D>(n);
  for (std::size_t d = 0; d < D; ++d) {
    const Index inner = strides[d];
    const Index lines = product<D>(n) / n[d];
    parallel_for(0, lines, std::max<Index>(1, 8192 / n[d]), [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        const Index first = (l / inner) * inner * n[d] + l % inner;
        for (Index c = 0; c < n[d]; ++c) {
          bool value = all;
          for (Index o = -reach; o <= reach; ++o) {
            const bool flag = flags[first + grid::mirrored_cell(grid, static_cast<int>(d), c + o).cell * inner] != 0;
            value = all ? value && flag : value || flag;
          }
          scratch[first + c * inner] = value;
        }
      }
    });
    parallel_for(0, product<D>(n), 1 << 16,
                 [&](Index begin, Index end) { std::copy(scratch + begin, scratch + end, flags + begin); });
  }
}

template <int D>
Coord<D> cell_at(const Coord<D>& n, Index i) {
  Coord<D> c;
  for (int d = D - 1; d >= 0; --d) {
    const auto a = static_cast<std::size_t>(d);
    c[a] = i % n[a];
    i /= n[a];
  }
  return c;
}

/// One evaluation of the level set, in cells.
template <int D>
struct Evaluation {
  const grid::Grid<D>& grid;
  grid::CellParticles<D> particles;
  double radius, support, band;
  const double* distances;  ///< carried by the particles, in cells; or nullptr

  Vec<double, D> center(const Coord<D>& cell) const {
    Vec<double, D> y;
    for (int d = 0; d < D; ++d) y[d] = static_cast<double>(cell[static_cast<std::size_t>(d)]) + 0.5;
    return y;
  }

  double squared(const Vec<double, D>& y, const std::array<double, D>& x) const {
    double s = 0.0;
    for (int d = 0; d < D; ++d) {
      const double r = x[static_cast<std::size_t>(d)] - y[d];
      s += r * r;
    }
    return s;
  }

  double spheres(const Coord<D>& cell, Index reach) const {
    const Vec<double, D> y = center(cell);
    double nearest = std::numeric_limits<double>::infinity();
    for (Index ring = 0; ring <= reach; ++ring) {
      grid::for_each_neighbor<D>(particles, cell, ring, ring, [&](Index, const std::array<double, D>& x, const auto&) {
        nearest = std::min(nearest, squared(y, x));
      });
      // Particles farther out are at least this far away.
      const double covered = static_cast<double>(ring) + 0.5;
      if (nearest <= covered * covered) break;
    }
    return std::sqrt(nearest) - radius;
  }

  double average(const Coord<D>& cell, Index reach) const {
    const Vec<double, D> y = center(cell);
    const double inverse = 1.0 / (support * support);
    double weights = 0.0;
    std::array<double, D> mean{};
    grid::for_each_neighbor<D>(particles, cell, 0, reach, [&](Index, const std::array<double, D>& x, const auto&) {
      const double s = squared(y, x) * inverse;
      if (s >= 1.0) return;
      const double w = (1.0 - s) * (1.0 - s) * (1.0 - s);
      weights += w;
      for (std::size_t d = 0; d < D; ++d) mean[d] += w * x[d];
    });
    if (!(weights > 0.0)) return band;
    for (double& m : mean) m /= weights;
    return std::sqrt(squared(y, mean)) - radius;
  }

  double anisotropic(const AnisotropicKernel<D>* kernels, const Coord<D>& cell, Index reach) const {
    const KernelSum<D> sum = sum_kernels<D>(particles, kernels, cell, reach, center(cell));
    const double slope = sum.gradient.norm();
    if (sum.value >= 1.0) return -band;
    if (sum.value <= 0.0) return band;
    // Across the surface the sum falls about like 1 / (1 + exp(s)), whose slope and value give the distance anywhere; a tangent
    // would be right at the surface alone, and a cell is as wide as the whole fall.
    const double distance = sum.value * (1.0 - sum.value) * std::log((1.0 - sum.value) / sum.value);
    return std::abs(distance) < band * slope ? distance / slope : std::copysign(band, distance);
  }
};

/// Cells that hold a particle but neither are nor touch liquid, become liquid as if the particle was a sphere around the cell.
template <int D>
void cover_drops(const Evaluation<D>& evaluation, const double* before, double* phi) {
  const grid::Grid<D>& grid = evaluation.grid;
  const Coord<D>& n = grid.shape();
  const Coord<D> strides = c_strides<D>(n);
  const Index* starts = evaluation.particles.starts;
  const double radius = 0.5 * std::sqrt(static_cast<double>(D)) * (1.0 + 1e-6);
  parallel_for(0, product<D>(n), 2048, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      phi[i] = before[i];
      if (before[i] <= 0.0 || starts[i] == starts[i + 1]) continue;
      const Coord<D> c = cell_at<D>(n, i);
      bool touches = false;
      for (std::size_t d = 0; d < D; ++d)
        for (Index o = -1; o <= 1; o += 2)
          touches =
              touches || before[i + (grid::mirrored_cell(grid, static_cast<int>(d), c[d] + o).cell - c[d]) * strides[d]] <= 0.0;
      if (touches) continue;
      const Vec<double, D> y = evaluation.center(c);
      for (Index p = starts[i]; p < starts[i + 1]; ++p) {
        const double r = (Eigen::Map<const Vec<double, D>>(evaluation.particles.positions + p * D) - y).norm();
        phi[i] = std::min(phi[i], r - radius);
      }
    }
  });
}

/// Where the level set is fitted to carried distances, and where it continues the fits.
enum Fit : Flag { settled, fitted, beyond };

/// Air beyond the fits continues them linearly, layer by layer, so that a surface meets a solid at the angle that it has beside
/// it. It stays air, but for cells that the surface just covers.
template <int D>
void continue_fits(const grid::Grid<D>& grid, Flag* fits, Flag* scratch, double* phi) {
  const Coord<D>& n = grid.shape();
  const Coord<D> strides = c_strides<D>(n);
  const Index cells = product<D>(n);
  for (Index layer = 0; layer < continued_layers; ++layer) {
    parallel_for(0, cells, 4096, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        scratch[i] = fits[i];
        if (fits[i] != beyond) continue;
        const Coord<D> c = cell_at<D>(n, i);
        double sum = 0.0;
        int found = 0;
        for (std::size_t d = 0; d < D; ++d)
          for (const Index side : {-1, 1}) {
            const auto image = [&](Index steps) {
              const Index at = grid::image_of_cell(grid, static_cast<int>(d), c[d] + side * steps);
              return at < 0 ? at : i + (at - c[d]) * strides[d];
            };
            const Index near = image(1), far = image(2);
            if (near < 0 || far < 0 || fits[near] != fitted || fits[far] != fitted) continue;
            sum += 2.0 * phi[near] - phi[far];
            ++found;
          }
        if (!found || !(sum > -found * thinnest_liquid)) continue;
        phi[i] = sum / found;
        scratch[i] = fitted;
      }
    });
    parallel_for(0, cells, 1 << 16, [&](Index begin, Index end) { std::copy(scratch + begin, scratch + end, fits + begin); });
  }
}

template <int D>
void require_options(const ParticleSurfaceOptions& options, double h) {
  const double band = options.band / h;
  const double support = options.support / h;
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

/// The level set of all cells, in cells.
template <int D>
void evaluate(const Evaluation<D>& evaluation, ParticleSurface method, Index particles, double* phi, Workspace& workspace) {
  const grid::Grid<D>& grid = evaluation.grid;
  const Index cells = product<D>(grid.shape());
  const Index* starts = evaluation.particles.starts;
  const bool spheres = method == ParticleSurface::spheres;
  const bool anisotropic = method == ParticleSurface::anisotropic;
  const double longest = spheres       ? evaluation.radius + evaluation.band
                         : anisotropic ? 2.0 * evaluation.support
                                       : evaluation.support;
  Index reach = std::min(reach_of(longest), grid::max_reach);
  // A cell without particles within reach is air; a cell with full cells all around is deep
  // liquid, except with spheres that leave gaps.
  const bool gaps = spheres && evaluation.radius < 0.5 * std::sqrt(static_cast<double>(D));
  const bool carried = evaluation.distances != nullptr;
  const Index deep = carried ? carried_layers : spheres ? 1 : anisotropic ? deep_layers : reach;
  const double deepest = anisotropic || carried ? -evaluation.band : -std::min(evaluation.radius, evaluation.band);
  const auto flags = workspace.take<Flag>((carried ? 4 : 3) * cells);
  Flag* some = flags.data();
  Flag* full = some + cells;
  Flag* scratch = full + cells;
  Flag* fits = carried ? scratch + cells : nullptr;
  const auto occupy = [&](Flag* to) {
    parallel_for(0, cells, 1 << 15, [&](Index begin, Index end) {
      for (Index c = begin; c < end; ++c) to[c] = starts[c] != starts[c + 1];
    });
  };

  Workspace::Lease<AnisotropicKernel<D>> kernels;
  if (anisotropic) {
    kernels = workspace.take<AnisotropicKernel<D>>(particles);
    occupy(full);
    spread(grid, full, scratch, std::min(deep + reach, grid::max_reach + deep_layers), true);
    const double farthest = parallel_reduce(
        Index{0}, cells, Index{256}, 0.0,
        [&](Index begin, Index end) {
          double most = 0.0;
          for (Index c = begin; c < end; ++c) {
            if (full[c]) continue;
            const Coord<D> cell = cell_at<D>(grid.shape(), c);
            for (Index i = starts[c]; i < starts[c + 1]; ++i) {
              kernels.data()[i] =
                  anisotropic_kernel<D>(evaluation.particles, cell, evaluation.particles.positions + i * D, evaluation.support);
              most = std::max(most, kernels.data()[i].reach);
            }
          }
          return most;
        },
        [](double a, double b) { return std::max(a, b); });
    reach = std::min(reach, reach_of(farthest));
  }

  occupy(some);
  spread(grid, some, scratch, reach, false);
  if (gaps) {
    std::fill_n(full, cells, Flag{0});
  } else {
    occupy(full);
    spread(grid, full, scratch, deep, true);
  }
  parallel_for(0, cells, 512, [&](Index begin, Index end) {
    for (Index c = begin; c < end; ++c) {
      if (fits) fits[c] = settled;
      if (!some[c]) {
        phi[c] = evaluation.band;
        if (fits) fits[c] = beyond;
      } else if (full[c]) {
        phi[c] = deepest;
      } else {
        const Coord<D> cell = cell_at<D>(grid.shape(), c);
        DistanceFit<D> fit;
        for (const double support : carried_supports)
          if (carried && !(fit.trust > 0.0)) fit = fit_distance<D>(evaluation.particles, evaluation.distances, cell, support);
        double value = fit.value;
        if (fit.trust < 1.0) {
          value = spheres       ? evaluation.spheres(cell, reach)
                  : anisotropic ? evaluation.anisotropic(kernels.data(), cell, reach)
                                : evaluation.average(cell, reach);
          if (fit.trust > 0.0) value += fit.trust * (fit.value - value);
        }
        phi[c] = std::clamp(value, -evaluation.band, evaluation.band);
        if (carried) fits[c] = fit.trust == 1.0 ? fitted : value > 0.0 && starts[c] == starts[c + 1] ? beyond : settled;
      }
    }
  });
  if (carried) continue_fits(grid, fits, scratch, phi);
}

}  // namespace

template <class T, int D>
void particle_levelset(grid::ParticleSet& particles, grid::Field<T, D>& phi, const ParticleSurfaceOptions& options,
                       Workspace& workspace) {
  const grid::Grid<D>& grid = phi.grid();
  const double h = grid.spacing();
  require(phi.stagger() == grid::Stagger<D>::cell(), "the level set must be at the centres of cells");
  require_options<D>(options, h);
  grid::require_one_block(grid, "the surface of particles");
  const Coord<D>& shape = grid.shape();
  const Index cells = product<D>(shape);
  const Index n = particles.size();
  const auto starts = workspace.take<Index>(cells + 1);
  grid::order_by_cell<T, D>(particles, grid, starts.data(), workspace);
  const T* x = grid::particle_positions<T, D>(particles);
  const auto positions = workspace.take<double>(n * D);
  parallel_for(0, n, 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto place = grid::locate_in_domain(grid, x + i * D);
      for (std::size_t d = 0; d < D; ++d)
        positions.data()[i * D + static_cast<Index>(d)] = static_cast<double>(place.cell[d]) + place.offset[d];
    }
  });
  Workspace::Lease<double> distances;
  if (options.carried) {
    distances = workspace.take<double>(n);
    const T* carried = grid::particle_values<T>(particles, "distance", 1);
    for (Index i = 0; i < n; ++i) distances.data()[i] = static_cast<double>(carried[i]) / h;
  }
  const Evaluation<D> evaluation{grid,
                                 {&grid, starts.data(), positions.data()},
                                 options.radius / h,
                                 options.support / h,
                                 options.band / h,
                                 options.carried ? distances.data() : nullptr};

  const auto values = workspace.take<double>(cells);
  evaluate(evaluation, options.method, n, values.data(), workspace);
  const auto covered = workspace.take<double>(options.cover ? cells : 0);
  if (options.cover) cover_drops(evaluation, values.data(), covered.data());
  const double* result = options.cover ? covered.data() : values.data();
  const NoInterrupts commit;
  const grid::FieldView<T, D> out = phi.view();
  grid::parallel_rows<D>(shape, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      T* to = out.at(grid::row_start<D>(shape, r));
      const double* from = result + r * shape[D - 1];
      for (Index k = 0; k < shape[D - 1]; ++k) to[k] = static_cast<T>(h * from[k]);
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void particle_levelset<T, D>(grid::ParticleSet&, grid::Field<T, D>&, const ParticleSurfaceOptions&, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
