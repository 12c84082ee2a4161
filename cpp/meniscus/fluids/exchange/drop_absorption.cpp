#include "meniscus/fluids/exchange/drop_absorption.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_spray.hpp"

#include <algorithm>
#include <cmath>

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

  /// Liquid around the face across `axis` at an offset from the lower face of the cell, in cells, and the face that stands for
  /// it.
  double around(int axis, const Coord<D>& offset, Coord<D>& face) {
    const auto a = static_cast<std::size_t>(axis);
    double sum = 0.0;
    for (const Index upper : {0, 1}) {
      Coord<D> at = offset;
      at[a] += upper - 1;
      if (const auto* halves = find(at)) sum += 0.5 * (*halves)[a][upper ? 0 : 1];
    }
    if (sum == 0.0) return 0.0;
    const grid::Grid<D>& grid = liquid_.grid();
    for (int d = 0; d < D; ++d) {
      const auto e = static_cast<std::size_t>(d);
      const Index i = centre_[e] + offset[e];
      face[e] = d == axis ? standing_face(grid, d, i) : grid::image_of_cell(grid, d, i);
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
        const auto e = static_cast<std::size_t>(d);
        cell[e] = grid::image_of_cell(liquid_.grid(), d, centre_[e] + offset[e]);
        if (cell[e] < 0) known_[slot] = 2;
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

/// Faces up to one cell from a cell, across one axis, with the liquid around them.
template <int D>
struct WetFaces {
  static constexpr int most = D == 2 ? 3 * 4 : 3 * 3 * 4;
  std::array<Coord<D>, most> face;
  std::array<double, most> wet;
  int count = 0;
  double sum = 0.0;

  template <class T>
  void find(Surroundings<T, D>& near, int axis) {
    count = 0;
    sum = 0.0;
    for (int k = 0; k < most; ++k) {
      Coord<D> offset;
      int rest = k / 4;
      for (int e = 0; e < D; ++e) {
        if (e == axis) continue;
        offset[static_cast<std::size_t>(e)] = rest % 3 - 1;
        rest /= 3;
      }
      offset[static_cast<std::size_t>(axis)] = k % 4 - 1;
      const auto i = static_cast<std::size_t>(count);
      wet[i] = near.around(axis, offset, face[i]);
      if (wet[i] == 0.0) continue;
      sum += wet[i];
      ++count;
    }
  }
};

}  // namespace

template <class T, int D>
Absorption absorb_drops(grid::MacField<T, D>& velocity, grid::Field<T, D>& phi, const std::uint8_t* outside,
                        grid::ParticleSet& drops, double time, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  grid::require_one_block(grid, "absorption of drops");
  require(phi.grid() == grid, "the level set must have the grid of the velocity");
  const surface::SprayColumns<T, D> s(drops);
  const Index n = drops.size();
  const auto flags = surface::flag_returned(phi, drops, -1, 0.0, time, workspace);
  Absorption result;
  if (std::none_of(flags.data(), flags.data() + n, [](std::uint8_t f) { return f != 0; })) return result;
  phi.fill_ghosts(time);
  const double cell = std::pow(grid.spacing(), D);
  const FaceLiquid<T, D> liquid(phi, outside);
  Surroundings<T, D> near(liquid);
  FaceGifts<D> gifts(phi.extents(), workspace);
  std::array<WetFaces<D>, D> faces;
  // In the order of the drops, for the sake of the same bits.
  for (Index i = 0; i < n; ++i) {
    if (!flags.data()[i]) continue;
    near.move_to(grid::locate_in_domain(grid, s.position + i * D).cell);
    bool taken = true;
    for (int d = 0; d < D; ++d) {
      faces[static_cast<std::size_t>(d)].find(near, d);
      taken &= faces[static_cast<std::size_t>(d)].count > 0;
    }
    flags.data()[i] = taken;
    if (!taken) continue;
    const double volume = surface::ball_volume<D>(static_cast<double>(s.radius[i]));
    ++result.count;
    result.volume += volume;
    result.volumes.push_back(volume);
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const double v = static_cast<double>(s.velocity[i * D + d]);
      result.momentum[axis] += volume * v;
      result.positions.push_back(static_cast<double>(s.position[i * D + d]));
      const WetFaces<D>& f = faces[axis];
      for (int k = 0; k < f.count; ++k)
        gifts.give(d, f.face[static_cast<std::size_t>(k)], volume / cell * (f.wet[static_cast<std::size_t>(k)] / f.sum), v);
    }
  }
  const NoInterrupts commit;
  result.impulse = gifts.apply(velocity, liquid);
  drops.remove(flags.data(), workspace);
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                           \
  template Absorption absorb_drops<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const std::uint8_t*, grid::ParticleSet&, \
                                         double, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
