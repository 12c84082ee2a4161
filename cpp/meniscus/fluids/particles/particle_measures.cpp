#include "meniscus/fluids/particles/particle_measures.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::fluids {
namespace {

constexpr Index piece = 16384;

/// Calls f(first value, number of values) with the values as float or double.
template <class F>
double with_values(grid::ParticleSet& particles, std::string_view column, F&& f) {
  const grid::ParticleColumn& c = particles.column(column);
  const Index n = particles.size() * c.width;
  if (c.type == grid::ColumnType::float64) return f(reinterpret_cast<const double*>(c.data.data()), n);
  if (c.type != grid::ColumnType::float32) throw WrongType("column '" + c.name + "' must be of type float32 or float64");
  return f(reinterpret_cast<const float*>(c.data.data()), n);
}

template <int D>
bool all_outside(const double* lowest, const Coord<D>& strides) {
  for (int corner = 0; corner < 1 << D; ++corner) {
    Index at = 0;
    for (int d = 0; d < D; ++d) at += corner >> d & 1 ? strides[d] : 0;
    if (!(lowest[at] > 0)) return false;
  }
  return true;
}

/// Frobenius norm of the symmetric gradient of a velocity, 1/s, at the centre of a cell of the block, from the faces of it and of
/// the cells around; ghosts are filled.
template <class T, int D>
double cell_strain_rate(const std::array<grid::FieldView<const T, D>, D>& velocity, const Coord<D>& cell, double spacing) {
  Eigen::Matrix<double, D, D> gradient;
  for (std::size_t d = 0; d < D; ++d) {
    const T* const lower = velocity[d].at(cell);
    const Coord<D>& strides = velocity[d].strides;
    const T* const upper = lower + strides[d];
    const auto difference = [](T above, T below) { return static_cast<double>(above) - static_cast<double>(below); };
    for (std::size_t a = 0; a < D; ++a) {
      const Index s = strides[a];
      gradient(static_cast<Index>(d), static_cast<Index>(a)) =
          a == d ? difference(*upper, *lower) : 0.25 * (difference(lower[s], lower[-s]) + difference(upper[s], upper[-s]));
    }
  }
  return 0.5 / spacing * (gradient + gradient.transpose()).norm();
}

}  // namespace

double largest_value(parallel::Communicator& communicator, grid::ParticleSet& particles, std::string_view column) {
  const double of_own = with_values(particles, column, [](const auto* v, Index n) {
    return parallel_reduce(
        Index{0}, n, piece, 0.0,
        [&](Index begin, Index end) {
          // One largest value per lane: the vectoriser keeps no single one. What is no number counts as infinite.
          constexpr Index lanes = 16;
          constexpr double most = std::numeric_limits<double>::infinity();
          std::array<double, lanes> largest{};
          const auto take = [&](Index l, double value) {
            double& lane = largest[l];
            const double a = value < 0.0 ? -value : value >= 0.0 ? value : most;
            lane = a > lane ? a : lane;
          };
          simd_dispatch([&] {
            Index i = begin;
            for (; i + lanes <= end; i += lanes)
              for (Index l = 0; l < lanes; ++l) take(l, static_cast<double>(v[i + l]));
            for (; i < end; ++i) take(0, static_cast<double>(v[i]));
          });
          return *std::ranges::max_element(largest);
        },
        [](double a, double b) { return std::max(a, b); });
  });
  return parallel::global_max(communicator, of_own);
}

double sum_of_squares(parallel::Communicator& communicator, grid::ParticleSet& particles, std::string_view column) {
  constexpr Index row = 128;
  return with_values(particles, column, [&](const auto* v, Index n) {
    using numerics::BinnedSum;
    const BinnedSum sum = parallel_reduce(
        Index{0}, n, piece, BinnedSum(),
        [&](Index begin, Index end) -> BinnedSum {
          numerics::BinnedLanes<static_cast<int>(row)> lanes;
          simd_dispatch([&] {
            double squares[row];
            for (Index first = begin; first < end; first += row) {
              const Index count = std::min(row, end - first);
              for (Index k = 0; k < count; ++k)
                squares[k] = static_cast<double>(v[first + k]) * static_cast<double>(v[first + k]);
              lanes.add(squares, static_cast<int>(count));
            }
          });
          return lanes.total();
        },
        [](BinnedSum a, const BinnedSum& b) {
          a.add(b);
          return a;
        });
    return parallel::global_sum(communicator, sum);
  });
}

template <class T, int D>
void density_excess(const grid::Field<T, D>& density, double per_cell, grid::Field<T, D>& levelset,
                    const grid::Field<double, D>* solid, const CorrectedStrain<T, D>* strain, grid::Field<T, D>& excess) {
  require(density.layout().same_place(excess.layout()) && levelset.layout().same_place(excess.layout()),
          "density and level set must have the samples of the excess");
  require(!solid || (solid->grid() == density.grid() && solid->stagger() == grid::Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  // Beyond walls lies what is before them: a cell beside a wall must be full.
  levelset.fill_ghosts(0.0);
  std::array<grid::FieldView<const T, D>, D> flow;
  if (strain) {
    require(strain->velocity.grid() == density.grid(), "the velocity must have the grid of the density");
    strain->velocity.fill_ghosts(strain->time);
    for (int d = 0; d < D; ++d) flow[d] = std::as_const(strain->velocity.component(d)).view();
  }
  const grid::Grid<D>& grid = density.grid();
  const auto rho = density.view();
  const auto phi = std::as_const(levelset).view();
  const auto to = excess.view();
  const T full = static_cast<T>(per_cell), most = static_cast<T>(largest_density_change);
  grid::parallel_rows<D>(to.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = grid::row_start<D>(to.extents, r);
      const T* here = phi.at(c);
      const T* count = rho.at(c);
      T* row = to.at(c);
      for (Index k = 0; k < to.extents[D - 1]; ++k) {
        if (!(here[k] <= 0)) {
          row[k] = 0;
          continue;
        }
        bool inner = true;
        for (const Index stride : phi.strides) inner &= here[k - stride] <= 0 && here[k + stride] <= 0;
        if (solid && inner) {
          const auto nodes = solid->view();
          inner = all_outside<D>(nodes.at(c) + k, nodes.strides);
        }
        T relative = std::clamp(count[k] / full - T(1), -most, most);
        if (!inner) relative = std::max(relative, T(0));
        row[k] = relative;
        if (!strain || relative == T(0)) continue;
        Coord<D> cell = c;
        cell[D - 1] = k;
        row[k] *= static_cast<T>(-std::expm1(-strain->rate * cell_strain_rate<T, D>(flow, cell, grid.spacing()) * strain->dt));
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                        \
  template void density_excess<T, D>(const grid::Field<T, D>&, double, grid::Field<T, D>&, const grid::Field<double, D>*, \
                                     const CorrectedStrain<T, D>*, grid::Field<T, D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
