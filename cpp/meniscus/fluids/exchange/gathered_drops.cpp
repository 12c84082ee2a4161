#include "meniscus/fluids/exchange/gathered_drops.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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
    return surface::open_part<D>(surface::corner_values<D>(nodes.at(cell), nodes.strides));
  }

  /// The cell that takes the drops of a cell.
  Coord<D> taking(const Coord<D>& cell) const {
    Coord<D> best = cell;
    if (!solid_ || distance(cell) > 0.0) return best;
    double farthest = 0.0;
    for (int d = 0; d < D; ++d)
      for (const Index step : {-1, 1}) {
        Coord<D> beside = cell;
        Index& i = beside[d];
        const auto image = grid_.block().image(d, i + step);
        if (!image) continue;
        i = *image;
        if (!(distance(beside) > farthest)) continue;
        farthest = distance(beside);
        best = beside;
      }
    return best;
  }

 private:
  const grid::Grid<D>& grid_;
  const grid::Field<double, D>* solid_;
};

/// Lowers a field around a cell, of the block or near it, to the distance from it.
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
      Index& i = at[d];
      const auto image = grid.block().image(d, i + step);
      i = image.value_or(-1);
      there &= i >= 0 && i < region.extents[d];
      most = std::max(most, std::abs(step));
      const double beyond = std::max(0.0, std::abs(step) - 0.5);
      square += beyond * beyond;
    }
    if (!there) continue;
    const T distance = static_cast<T>(grid.spacing() * (most == 0 ? -0.5 : std::sqrt(square)));
    *region.at(at) = std::min(*region.at(at), distance);
  }
}

/// A drop in the cell that takes it, both by their numbers in the domain.
template <int D>
struct GatheredDrop {
  Index cell, id;
  double ball;
  std::array<double, D> velocity;

  bool operator<(const GatheredDrop& o) const { return std::pair(cell, id) < std::pair(o.cell, o.id); }
};

/// A cell of the domain that drops fill, and what they bring.
template <int D>
struct FilledCell {
  Index cell;
  double volume;
  std::array<double, D> momentum;
};

/// The cell with a number in the domain, counted from the first of the block: its image that is nearest.
template <int D>
Coord<D> cell_near_block(const grid::Grid<D>& grid, Index number) {
  Coord<D> cell = surface::index_of<D>(number, c_strides<D>(grid.shape()));
  for (int d = 0; d < D; ++d) {
    Index& i = cell[d];
    i = grid::image_near_block<D>(grid, d, i);
  }
  return cell;
}

}  // namespace

template <class T, int D>
GatheredDrops gather_drops(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                           grid::ParticleSet& drops, double far, grid::Field<T, D>& region, std::uint8_t* gathered,
                           Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  require(levelset.grid() == grid && region.grid() == grid, "the level sets must have the grid of the velocity");
  const surface::SprayColumns<T, D> s(drops);
  const auto* const ids = reinterpret_cast<const std::int64_t*>(drops.ids().data.data());
  const Index n = drops.size();
  std::fill_n(gathered, n, std::uint8_t{0});
  parallel::Communicator& communicator = *grid.communicator();
  GatheredDrops result;
  if (!parallel::global_any(communicator, n > 0)) return result;
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const double h = grid.spacing(), whole = std::pow(h, D);
  const SolidCells<D> cells(grid, solid);
  std::vector<GatheredDrop<D>> found(n);
  parallel_for(0, n, 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      GatheredDrop<D>& drop = found[i];
      drop.cell = grid::domain_index<D>(grid, cells.taking(grid::cell_in_block<T, D>(grid, s.position + i * D)));
      drop.id = ids[i];
      drop.ball = surface::ball_volume<D>(static_cast<double>(s.radius[i]));
      for (Index d = 0; d < D; ++d) drop.velocity[d] = static_cast<double>(s.velocity[i * D + d]);
    }
  });
  std::vector<GatheredDrop<D>> taken = found;
  grid::hand_to_owners<D>(
      grid, taken, [&](const GatheredDrop<D>& drop) { return surface::index_of<D>(drop.cell, c_strides<D>(grid.shape())); });
  std::sort(taken.begin(), taken.end());
  std::vector<FilledCell<D>> filled;
  for (auto first = taken.begin(), last = first; first != taken.end(); first = last) {
    FilledCell<D> sum{first->cell, 0.0, {}};
    for (; last != taken.end() && last->cell == first->cell; ++last) {
      sum.volume += last->ball;
      for (std::size_t d = 0; d < D; ++d) sum.momentum[d] += last->ball * last->velocity[d];
    }
    const Coord<D> cell = cell_near_block<D>(grid, sum.cell);
    if (is_liquid_value(*phi.at(cell), h) || (solid && !(cells.distance(cell) > 0.0))) continue;
    if (sum.volume < whole * cells.open(cell)) continue;
    filled.push_back(sum);
    result.volumes.push_back(sum.volume);
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      const auto at = static_cast<double>(grid.first_cell()[axis] + cell[axis]);
      result.positions.push_back(grid.origin()[d] + (at + 0.5) * h);
    }
  }
  filled = parallel::gather_lists(communicator, filled);
  if (filled.empty()) return result;
  std::sort(filled.begin(), filled.end(), [](const FilledCell<D>& a, const FilledCell<D>& b) { return a.cell < b.cell; });
  Index count = 0;
  for (Index i = 0; i < n; ++i) {
    const Index cell = found[i].cell;
    const auto at =
        std::lower_bound(filled.begin(), filled.end(), cell, [](const FilledCell<D>& f, Index c) { return f.cell < c; });
    gathered[i] = at != filled.end() && at->cell == cell;
    count += gathered[i];
  }
  result.count = parallel::global_sum(communicator, count);
  for (const FilledCell<D>& f : filled) {
    result.volume += f.volume;
    for (std::size_t d = 0; d < D; ++d) result.momentum[d] += f.momentum[d];
  }

  grid::fill_ghosts_on_lines(levelset, 0.0);
  const FaceLiquid<T, D> liquid(levelset, solid);
  FaceGifts<D> gifts(grid, workspace);
  for (const FilledCell<D>& f : filled)
    for (int d = 0; d < D; ++d)
      for (const Index upper : {0, 1}) {
        const Index axis = d;
        Coord<D> face = cell_near_block<D>(grid, f.cell);
        face[axis] += upper;
        if (const auto own = gifts.own_face(d, face)) gifts.give(d, *own, 0.5 * f.volume / whole, f.momentum[axis] / f.volume);
      }
  const NoInterrupts commit;
  gifts.apply(velocity, liquid);
  const grid::FieldView<T, D> to = region.view();
  grid::parallel_rows<D>(to.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      std::fill_n(to.at(grid::row_start<D>(to.extents, r)), to.extents[D - 1], static_cast<T>(far));
  });
  for (const FilledCell<D>& f : filled) lower_around<T, D>(cell_near_block<D>(grid, f.cell), grid, to);
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                    \
  template GatheredDrops gather_drops<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*, \
                                            grid::ParticleSet&, double, grid::Field<T, D>&, std::uint8_t*, Workspace&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
