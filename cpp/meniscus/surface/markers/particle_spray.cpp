#include "meniscus/surface/markers/particle_spray.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/particle_numbering.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"
#include "meniscus/surface/markers/particle_order.hpp"
#include "meniscus/surface/volume_of_fluid/cell_plane.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace meniscus::surface {
namespace {

/// A particle that becomes a marker again, with what the liquid around it takes.
template <class T, int D>
struct Returned {
  Index key, id;  ///< cell in the domain, by which particles are ordered
  Coord<D> cell;  ///< counted from the first of the block
  std::array<T, D> velocity;
  double part;               ///< of a cell, that has the velocity
  std::array<T, D> share{};  ///< of the difference in velocity that the liquid takes, along each axis
};

/// Whether index i of an axis is stored, with ghosts.
template <class T, int D>
bool stored(const grid::FieldView<T, D>& view, const Coord<D>& c) {
  for (std::size_t d = 0; d < D; ++d)
    if (c[d] < -grid::ghost_width || c[d] >= view.extents[d] + grid::ghost_width) return false;
  return true;
}

/// Calls receive(value) for a face, where it is stored, and for its copy around a periodic axis that is not cut.
template <class T, int D, class Receive>
void for_copies(grid::MacField<T, D>& velocity, int axis, Coord<D> face, Receive&& receive) {
  const grid::FieldView<T, D> view = velocity.component(axis).view();
  if (!stored<T, D>(view, face)) return;
  receive(*view.at(face));
  const Index a = axis;
  if (velocity.grid().block().cut(axis)) return;
  const Index twin = grid::twin_of_sample(velocity.grid(), grid::Stagger<D>::face(axis), axis, face[a]);
  if (twin < 0) return;
  face[a] = twin;
  receive(*view.at(face));
}

/// Gives half of a part of a cell that has a velocity to both faces per axis of the cell.
template <class T, int D>
void deposit_at(grid::MacField<T, D>& velocity, const Returned<T, D>& p, Deposit deposit) {
  for (int d = 0; d < D; ++d) {
    const T add = static_cast<T>(0.5 * p.part * static_cast<double>(p.velocity[d]));
    const T whole = deposit == Deposit::mean ? static_cast<T>(1 + 0.5 * p.part) : T{1};
    for (Index upper = 0; upper < 2; ++upper) {
      Coord<D> face = p.cell;
      face[d] += upper;
      for_copies<T, D>(velocity, d, face, [&](T& u) { u = (u + add) / whole; });
    }
  }
}

/// Volume of liquid around the face between two cells, in cells: in each half by the plane that the level set has there.
template <class T, int D>
double liquid_around_face(const grid::Grid<D>& grid, const grid::FieldView<const T, D>& phi, int axis, const Coord<D>& below,
                          const Coord<D>& above) {
  const double rise = static_cast<double>(*phi.at(above)) - static_cast<double>(*phi.at(below));
  double volume = 0;
  for (const Coord<D>* cell : {&below, &above}) {
    std::array<double, D> gradient{};
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      const auto beside = [&](Index step) {
        Coord<D> c = *cell;
        c[a] = grid.block().nearest(d, c[a] + step);
        return static_cast<double>(*phi.at(c));
      };
      gradient[a] = 0.5 * (d == axis ? rise : beside(1) - beside(-1));
    }
    const double middle = static_cast<double>(*phi.at(*cell)) + (cell == &below ? 0.25 : -0.25) * rise;
    volume += 0.5 * box_fraction<D>(middle, gradient);
  }
  return volume;
}

/// Calls receive(face, liquid around it) for all faces across an axis up to one cell away from a cell that have any, and for
/// which wanted(cell above the face) holds. Faces on the sides of the domain have none.
template <class T, int D, class Wanted, class Receive>
void for_each_wet_face(const grid::Grid<D>& grid, const grid::FieldView<const T, D>& phi, const Coord<D>& cell, int d,
                       Wanted&& wanted, Receive&& receive) {
  const auto axis = static_cast<std::size_t>(d);
  for (int k = 0; k < grid::layer_cells<D> * 4; ++k) {
    Coord<D> below = grid::layer_offset<D>(d, k / 4);
    for (int e = 0; e < D; ++e) below[e] += cell[e];
    below[axis] += k % 4 - 2;
    Coord<D> above = below;
    ++above[axis];
    bool within = true;
    for (int e = 0; e < D; ++e)
      for (Coord<D>* c : {&below, &above}) {
        Index& i = (*c)[e];
        const std::optional<Index> image = grid.block().image(e, i);
        within &= image.has_value();
        i = image.value_or(0);
      }
    if (!within || !wanted(above)) continue;
    if (*phi.at(below) > 0 && *phi.at(above) > 0) continue;
    if (const double wet = liquid_around_face<T, D>(grid, phi, d, below, above); wet > 0) receive(above, wet);
  }
}

/// What the liquid around a particle of the block takes, along each axis.
template <class T, int D>
void find_shares(const grid::Field<T, D>& phi, Returned<T, D>& p) {
  for (int d = 0; d < D; ++d) {
    double liquid = 0;
    for_each_wet_face<T, D>(
        phi.grid(), phi.view(), p.cell, d, [](const Coord<D>&) { return true; },
        [&](const Coord<D>&, double wet) { liquid += wet; });
    if (liquid > 0) p.share[d] = static_cast<T>(std::min(1.0, p.part / liquid));
  }
}

/// Draws the velocity of the liquid around a particle towards its own. Faces without liquid lose what they are given, and so do
/// those on the sides of the domain.
template <class T, int D>
void deposit_in_liquid(grid::MacField<T, D>& velocity, const grid::Field<T, D>& phi, const Returned<T, D>& p) {
  const Coord<D> n = velocity.grid().local_shape();
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    if (p.share[axis] == T(0)) continue;
    // Of the particles of other blocks only what faces of this one take; the cells around these are known.
    const auto own = [&](const Coord<D>& above) {
      bool inside = true;
      for (std::size_t e = 0; e < D; ++e) inside = inside && above[e] >= 0 && above[e] < n[e] + (e == axis);
      return inside;
    };
    for_each_wet_face<T, D>(phi.grid(), phi.view(), p.cell, d, own, [&](const Coord<D>& face, double) {
      for_copies<T, D>(velocity, d, face, [&](T& u) { u += p.share[axis] * (p.velocity[axis] - u); });
    });
  }
}

/// Cells beyond a block from which particles reach its faces.
constexpr Index deposit_reach = 2;

/// Collective: adds the particles of other blocks that reach this one, and orders all by cell and id.
template <class T, int D>
void add_returned_of_others(const grid::Grid<D>& grid, std::vector<Returned<T, D>>& own) {
  for (Returned<T, D>& p : own)
    for (std::size_t d = 0; d < D; ++d) p.cell[d] += grid.first_cell()[d];
  grid::add_items_around<D>(grid, deposit_reach, own, [](const Returned<T, D>& p) { return p.cell; });
  for (Returned<T, D>& p : own)
    for (int d = 0; d < D; ++d) {
      Index& i = p.cell[d];
      i = grid::image_near_block<D>(grid, d, i);
    }
  std::sort(own.begin(), own.end(),
            [](const Returned<T, D>& a, const Returned<T, D>& b) { return a.key != b.key ? a.key < b.key : a.id < b.id; });
}

}  // namespace

template <class T, int D>
Workspace::Lease<std::uint8_t> flag_returned(grid::Field<T, D>& phi, grid::ParticleSet& removed, int sign, double fraction,
                                             double time, Workspace& workspace) {
  require(sign == 1 || sign == -1, "sign must be 1 or -1, got ", sign);
  require(std::isfinite(fraction), "fraction must be finite, got ", fraction);
  const SprayColumns<T, D> s(removed);
  const Index n = removed.size();
  auto flags = workspace.take<std::uint8_t>(n);
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, s.position, n, grid::Interpolation::linear, time, values.data());
  parallel_for(0, n, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      flags.data()[i] = static_cast<T>(sign) * values.data()[i] >= -static_cast<T>(fraction) * s.radius[i];
  });
  return flags;
}

template <class T, int D>
Reincorporation reincorporate(grid::Field<T, D>& phi, grid::ParticleSet& removed, int sign, grid::ParticleSet& markers,
                              double fraction, const RadiusBounds& bounds, grid::MacField<T, D>* velocity, double scale,
                              Deposit deposit, double time, Workspace& workspace) {
  require(std::isfinite(scale) && scale >= 0, "scale must be finite and not negative, got ", scale);
  require(!velocity || phi.grid() == velocity->grid(), "the level set and the velocity must have the same grid");
  const SprayColumns<T, D> s(removed);
  static_cast<void>(MarkerColumns<T, D>(markers));
  const Index n = removed.size();
  const auto flags = flag_returned(phi, removed, sign, fraction, time, workspace);
  const auto list = list_indices(
      n,
      [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end; ++i)
          if (flags.data()[i] != 0) take(i);
      },
      workspace);
  const grid::Grid<D>& grid = phi.grid();
  parallel::Communicator& communicator = *grid.communicator();
  const bool cut = grid.block().cut();
  const double h = grid.spacing();
  const double cell = std::pow(h, D);
  const std::vector<PlacedParticle> order = ordered_by_cell<T, D>(grid, removed, list.index, list.size);
  std::vector<Returned<T, D>> returned;
  numerics::BinnedSum volume;
  std::array<numerics::BinnedSum, D> momentum;
  bool outside = false;
  for (const PlacedParticle& place : order) {
    const Index i = place.index;
    const double ball = ball_volume<D>(static_cast<double>(s.radius[i]));
    volume.add(ball);
    if (!velocity) continue;
    Returned<T, D>& p = returned.emplace_back();
    p.key = place.cell;
    p.id = place.id;
    p.cell = grid::locate_in_domain(grid, s.position + i * D).cell;
    p.part = scale * ball / cell;
    for (std::size_t d = 0; d < D; ++d) {
      p.cell[d] -= grid.first_cell()[d];
      outside |= p.cell[d] < 0 || p.cell[d] >= grid.local_shape()[d];
      p.velocity[d] = s.velocity[i * D + static_cast<Index>(d)];
      momentum[d].add(scale * ball * static_cast<double>(p.velocity[d]));
    }
    if (deposit == Deposit::liquid && !outside) find_shares(phi, p);
  }
  Reincorporation info;
  static_cast<Transfer&>(info) = transfer_of_all(communicator, list.size, volume);
  if (info.count == 0) return info;
  require(!parallel::global_any(communicator, outside), "a droplet lies outside of the block that has it");
  parallel::global_sums(communicator, momentum.data(), D);
  for (std::size_t d = 0; d < D; ++d) info.momentum[d] = momentum[d].value();

  const NoInterrupts commit;
  if (velocity) {
    if (cut) add_returned_of_others(grid, returned);
    for (const Returned<T, D>& p : returned)
      if (deposit == Deposit::liquid)
        deposit_in_liquid(*velocity, phi, p);
      else
        deposit_at(*velocity, p, deposit);
    for (int d = 0; cut && d < D; ++d) velocity->component(d).layout().halo.exchange(velocity->component(d).storage().data());
  }
  const Index first = markers.append(list.size);
  const MarkerColumns<T, D> m(markers);
  Index k = first;
  for (const PlacedParticle& place : order) {
    std::copy_n(s.position + place.index * D, D, m.position + k * D);
    m.sign[k] = static_cast<std::int8_t>(sign);
    m.radius[k++] = std::clamp(s.radius[place.index], static_cast<T>(bounds.smallest * h), static_cast<T>(bounds.largest * h));
  }
  if (cut) grid::number_new_particles<D>(markers, first, grid);
  removed.remove(flags.data(), workspace);
  return info;
}

Transfer transfer_of_all(parallel::Communicator& communicator, Index count, const numerics::BinnedSum& volume) {
  return {parallel::global_sum(communicator, count), parallel::global_sum(communicator, volume)};
}

template <class T, int D>
double total_volume(parallel::Communicator& communicator, const T* radius, Index n) {
  const numerics::BinnedSum sum = parallel_reduce(
      0, n, 4096, numerics::BinnedSum(),
      [&](Index begin, Index end) {
        numerics::BinnedSum part;
        for (Index i = begin; i < end; ++i) part.add(ball_volume<D>(static_cast<double>(radius[i])));
        return part;
      },
      [](numerics::BinnedSum a, const numerics::BinnedSum& b) {
        a.add(b);
        return a;
      });
  return parallel::global_sum(communicator, sum);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template Workspace::Lease<std::uint8_t> flag_returned<T, D>(grid::Field<T, D>&, grid::ParticleSet&, int, double, double,       \
                                                              Workspace&);                                                       \
  template Reincorporation reincorporate<T, D>(grid::Field<T, D>&, grid::ParticleSet&, int, grid::ParticleSet&, double,          \
                                               const RadiusBounds&, grid::MacField<T, D>*, double, Deposit, double, Workspace&); \
  template double total_volume<T, D>(parallel::Communicator&, const T*, Index);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
