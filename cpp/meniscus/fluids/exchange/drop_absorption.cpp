#include "meniscus/fluids/exchange/drop_absorption.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/liquid/label_sums.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_spray.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meniscus::fluids {
namespace {

/// The liquid in the cells up to two away from one, each found once.
template <class T, int D>
class Surroundings {
 public:
  explicit Surroundings(const FaceLiquid<T, D>& liquid) : liquid_(liquid) {}

  void move_to(const Coord<D>& cell) {
    centre_ = cell;
    known_.fill(0);
  }

  /// Liquid around the face across `axis` at an offset from the lower face of the cell, in cells.
  double around(int axis, const Coord<D>& offset) {
    const Index a = axis;
    double sum = 0.0;
    for (const Index upper : {0, 1}) {
      Coord<D> at = offset;
      at[a] += upper - 1;
      if (const auto* halves = find(at)) sum += 0.5 * (*halves)[a][upper ? 0 : 1];
    }
    return sum;
  }

 private:
  const typename FaceLiquid<T, D>::Halves* find(const Coord<D>& offset) {
    std::size_t slot = 0;
    for (std::size_t d = 0; d < D; ++d) slot = 5 * slot + static_cast<std::size_t>(offset[d] + 2);
    if (known_[slot] == 0) {
      Coord<D> cell;
      known_[slot] = 1;
      for (int d = 0; d < D; ++d) {
        const Index e = d;
        const auto image = liquid_.grid().block().image(d, centre_[e] + offset[e]);
        cell[e] = image.value_or(0);
        if (!image) known_[slot] = 2;
      }
      if (known_[slot] == 1) halves_[slot] = liquid_.halves(cell);
    }
    return known_[slot] == 1 ? &halves_[slot] : nullptr;
  }

  static constexpr std::size_t cells = D == 2 ? 25 : 125;
  const FaceLiquid<T, D>& liquid_;
  Coord<D> centre_{};
  std::array<std::uint8_t, cells> known_{};  ///< 1: found, 2: there is no such cell
  std::array<typename FaceLiquid<T, D>::Halves, cells> halves_{};
};

/// Calls visit(offset from the lower face of a cell) for the faces across an axis up to one cell from the cell.
template <int D, class Visit>
void for_each_face_near(int axis, Visit&& visit) {
  for (int k = 0; k < grid::layer_cells<D> * 4; ++k) {
    Coord<D> offset = grid::layer_offset<D>(axis, k / 4);
    offset[axis] = k % 4 - 1;
    visit(offset);
  }
}

/// A drop that is absorbed.
template <int D>
struct Drop {
  Index cell;  ///< of the domain
  Index id;
  Coord<D> place;  ///< of its cell in the domain
  double volume;
  std::array<double, D> velocity;
  std::array<double, D> wet;  ///< liquid around all faces near it, per axis of these, in cells

  bool operator<(const Drop& o) const { return std::pair(cell, id) < std::pair(o.cell, o.id); }
};

/// Faces up to so many cells from that of a drop take of it.
constexpr Index drop_reach = 2;

/// Collective: adds the drops of other blocks that give to faces of this one, and orders all by cell and id.
template <int D>
void add_drops_of_others(const grid::Grid<D>& grid, std::vector<Drop<D>>& drops) {
  grid::add_items_around<D>(grid, drop_reach, drops, [](const Drop<D>& drop) { return drop.place; });
  std::sort(drops.begin(), drops.end());
}

}  // namespace

template <class T, int D>
Absorption absorb_drops(grid::MacField<T, D>& velocity, grid::Field<T, D>& phi, const grid::Field<double, D>* solid,
                        grid::ParticleSet& drops, double time, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  require(phi.grid() == grid, "the level set must have the grid of the velocity");
  const surface::SprayColumns<T, D> s(drops);
  const auto* const ids = reinterpret_cast<const std::int64_t*>(drops.ids().data.data());
  const Index n = drops.size();
  const auto flags = surface::flag_returned(phi, drops, -1, 0.0, time, workspace);
  parallel::Communicator& communicator = *grid.communicator();
  Absorption result;
  if (!parallel::global_any(communicator, std::any_of(flags.data(), flags.data() + n, [](std::uint8_t f) { return f != 0; })))
    return result;
  grid::fill_ghosts_on_lines(phi, time);
  const double cell = std::pow(grid.spacing(), D);
  const FaceLiquid<T, D> liquid(phi, solid);
  Surroundings<T, D> near(liquid);
  std::vector<Drop<D>> taken;
  for (Index i = 0; i < n; ++i) {
    if (!flags.data()[i]) continue;
    const Coord<D> place = grid::cell_in_block<T, D>(grid, s.position + i * D);
    Drop<D> drop{grid::domain_index<D>(grid, place), ids[i], place, 0.0, {}, {}};
    near.move_to(place);
    bool can_give = true;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      for_each_face_near<D>(d, [&](const Coord<D>& offset) { drop.wet[axis] += near.around(d, offset); });
      can_give &= drop.wet[axis] > 0.0;
      drop.place[axis] += grid.first_cell()[axis];
      drop.velocity[axis] = static_cast<double>(s.velocity[i * D + d]);
    }
    flags.data()[i] = can_give;
    if (!can_give) continue;
    drop.volume = surface::ball_volume<D>(static_cast<double>(s.radius[i]));
    taken.push_back(drop);
    result.volumes.push_back(drop.volume);
    for (int d = 0; d < D; ++d) result.positions.push_back(static_cast<double>(s.position[i * D + d]));
  }
  LabelSums sums(D + 1);
  for (const Drop<D>& drop : taken) {
    sums.add(D, drop.volume);
    for (std::size_t d = 0; d < D; ++d) sums.add(d, drop.volume * drop.velocity[d]);
  }
  std::vector<double> totals;
  sums.total(communicator, totals);
  result.count = parallel::global_sum(communicator, static_cast<Index>(taken.size()));
  result.volume = totals[D];
  std::copy_n(totals.begin(), D, result.momentum.begin());
  if (result.count == 0) return result;

  add_drops_of_others<D>(grid, taken);
  FaceGifts<D> gifts(grid, workspace);
  for (const Drop<D>& drop : taken) {
    Coord<D> place;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      place[axis] = grid::image_near_block<D>(grid, d, drop.place[axis]);
    }
    near.move_to(place);
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      for_each_face_near<D>(d, [&](const Coord<D>& offset) {
        Coord<D> face = place;
        for (std::size_t e = 0; e < D; ++e) face[e] += offset[e];
        const auto own = gifts.own_face(d, face);
        if (!own) return;
        const double wet = near.around(d, offset);
        if (wet > 0.0) gifts.give(d, *own, drop.volume / cell * (wet / drop.wet[axis]), drop.velocity[axis]);
      });
    }
  }
  const NoInterrupts commit;
  result.impulse = gifts.apply(velocity, liquid);
  drops.remove(flags.data(), workspace);
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                 \
  template Absorption absorb_drops<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*, \
                                         grid::ParticleSet&, double, Workspace&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
