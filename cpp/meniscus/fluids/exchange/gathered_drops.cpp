#include "meniscus/fluids/exchange/gathered_drops.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Distance to the solid in the middle of a cell, and what the solid leaves of it.
template <int D>
class SolidCells {
 public:
  SolidCells(const grid::Grid<D>& grid, const grid::Field<double, D>* solid) : grid_(grid), solid_(solid) {}

  double distance(const Coord<D>& cell) const {
    const grid::FieldView<const double, D> nodes = solid_->view();
    return grid::corner_mean<D>(nodes.at(cell), nodes.strides);
  }

  /// Part of the cell that is not in the solid.
  double open(const Coord<D>& cell) const {
    if (!solid_) return 1.0;
    const grid::FieldView<const double, D> nodes = solid_->view();
    std::array<double, D> gradient{};
    for (int corner = 0; corner < 1 << D; ++corner) {
      Coord<D> node = cell;
      for (int d = 0; d < D; ++d) node[static_cast<std::size_t>(d)] += corner >> d & 1;
      for (int d = 0; d < D; ++d)
        gradient[static_cast<std::size_t>(d)] += (corner >> d & 1 ? 2.0 : -2.0) / (1 << D) * *nodes.at(node);
    }
    return 1.0 - grid::cube_fraction<D>(distance(cell), gradient);
  }

  /// The cell that takes the drops of a cell.
  Coord<D> taking(const Coord<D>& cell) const {
    Coord<D> best = cell;
    if (!solid_ || distance(cell) > 0.0) return best;
    double farthest = 0.0;
    for (int d = 0; d < D; ++d)
      for (const Index step : {-1, 1}) {
        Coord<D> beside = cell;
        Index& i = beside[static_cast<std::size_t>(d)];
        i = grid::image_of_cell(grid_, d, i + step);
        if (i < 0 || !(distance(beside) > farthest)) continue;
        farthest = distance(beside);
        best = beside;
      }
    return best;
  }

 private:
  const grid::Grid<D>& grid_;
  const grid::Field<double, D>* solid_;
};

/// Lowers a field around a cell to the distance from it.
template <class T, int D>
void lower_around(const Coord<D>& cell, const grid::Grid<D>& grid, const grid::FieldView<T, D>& region) {
  for (int k = 0; k < (D == 2 ? 25 : 125); ++k) {
    Coord<D> at = cell;
    int rest = k, most = 0;
    double square = 0.0;
    bool there = true;
    for (int d = 0; d < D; ++d) {
      const int step = rest % 5 - 2;
      rest /= 5;
      Index& i = at[static_cast<std::size_t>(d)];
      i = grid::image_of_cell(grid, d, i + step);
      there &= i >= 0;
      most = std::max(most, std::abs(step));
      const double beyond = std::max(0.0, std::abs(step) - 0.5);
      square += beyond * beyond;
    }
    if (!there) continue;
    const T distance = static_cast<T>(grid.spacing() * (most == 0 ? -0.5 : std::sqrt(square)));
    *region.at(at) = std::min(*region.at(at), distance);
  }
}

}  // namespace

template <class T, int D>
GatheredDrops gather_drops(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                           const std::uint8_t* outside, grid::ParticleSet& drops, double far, grid::Field<T, D>& region,
                           std::uint8_t* gathered, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  grid::require_one_block(grid, "gathering of drops");
  require(levelset.grid() == grid && region.grid() == grid, "the level sets must have the grid of the velocity");
  const surface::SprayColumns<T, D> s(drops);
  const Index n = drops.size();
  std::fill_n(gathered, n, std::uint8_t{0});
  GatheredDrops result;
  if (n == 0) return result;
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const double h = grid.spacing(), whole = std::pow(h, D);
  const SolidCells<D> cells(grid, solid);
  const Coord<D> strides = c_strides<D>(phi.extents);
  const auto keys = workspace.take<std::uint64_t>(n);
  const auto order = workspace.take<Index>(n);
  parallel_for(0, n, 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      keys.data()[i] =
          static_cast<std::uint64_t>(dot<D>(cells.taking(grid::locate_in_domain(grid, s.position + i * D).cell), strides));
  });
  radix_sort(keys.data(), order.data(), n, static_cast<std::uint64_t>(product<D>(phi.extents)), workspace);
  std::optional<FaceGifts<D>> gifts;
  std::vector<Coord<D>> filled;
  for (Index first = 0, last; first < n; first = last) {
    double volume = 0.0;
    VectorSum momentum{};
    for (last = first; last < n && keys.data()[last] == keys.data()[first]; ++last) {
      const Index i = order.data()[last];
      const double ball = surface::ball_volume<D>(static_cast<double>(s.radius[i]));
      volume += ball;
      for (int d = 0; d < D; ++d) momentum[static_cast<std::size_t>(d)] += ball * static_cast<double>(s.velocity[i * D + d]);
    }
    const Coord<D> cell = surface::index_of<D>(static_cast<Index>(keys.data()[first]), strides);
    if (is_liquid_value(*phi.at(cell), h) || (solid && !(cells.distance(cell) > 0.0))) continue;
    if (volume < whole * cells.open(cell)) continue;
    if (!gifts) gifts.emplace(phi.extents, workspace);
    for (Index k = first; k < last; ++k) gathered[order.data()[k]] = 1;
    result.count += last - first;
    result.volume += volume;
    result.volumes.push_back(volume);
    filled.push_back(cell);
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      result.momentum[axis] += momentum[axis];
      result.positions.push_back(grid.origin()[d] + (static_cast<double>(cell[axis]) + 0.5) * h);
      for (const Index upper : {0, 1}) {
        Coord<D> face = cell;
        face[axis] = standing_face(grid, d, cell[axis] + upper);
        gifts->give(d, face, 0.5 * volume / whole, momentum[axis] / volume);
      }
    }
  }
  if (filled.empty()) return result;
  levelset.fill_ghosts(0.0);
  const FaceLiquid<T, D> liquid(levelset, outside);
  const NoInterrupts commit;
  gifts->apply(velocity, liquid);
  const grid::FieldView<T, D> to = region.view();
  grid::parallel_rows<D>(to.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      std::fill_n(to.at(grid::row_start<D>(to.extents, r)), to.extents[D - 1], static_cast<T>(far));
  });
  for (const Coord<D>& cell : filled) lower_around<T, D>(cell, grid, to);
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template GatheredDrops gather_drops<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*,           \
                                            const std::uint8_t*, grid::ParticleSet&, double, grid::Field<T, D>&, std::uint8_t*, \
                                            Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
