// The part of a `VolumeBudget` that concerns drops: they take their volume from the liquid and bring it back.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/fluids/liquid/label_sums.hpp"
#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_spray.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::fluids {

/// Moves volumes at positions to the parts around them. Returns what goes to those that have left.
template <int D>
template <class T>
double VolumeBudget<D>::transfer(const T* positions, const double* volumes, Index n, const Solid* solid, Workspace& workspace) {
  parallel::Communicator& communicator = *grid_.communicator();
  const bool any = std::any_of(volumes, volumes + n, [](double v) { return v != 0.0; });
  if (!parallel::global_any(communicator, any)) return 0.0;
  const auto around = labels_around(labels_, spread, solid, workspace);
  LabelSums to_parts(expected_.size()), to_families(families_.count() + 1), unassigned(families_.count());
  const std::size_t leaves = families_.count();
  for (Index i = 0; i < n; ++i) {
    if (volumes[i] == 0.0) continue;
    const Coord<D> cell = grid::cell_in_block<T, D>(grid_, positions + i * D);
    Vec<double, D> at;
    for (int d = 0; d < D; ++d) at[d] = static_cast<double>(positions[i * D + d]);
    const auto [label, family] = label_and_family(cell, at, around.data());
    const auto f = family == VolumeFamilies::has_left ? leaves : static_cast<std::size_t>(family);
    to_families.add(f, volumes[i]);
    if (f == leaves) continue;
    (label ? to_parts : unassigned).add(label ? static_cast<std::size_t>(label) : f, volumes[i]);
  }
  const NoInterrupts whole;
  std::vector<double> by_family, vanished;
  to_parts.total(communicator, amounts_);
  to_families.total(communicator, by_family);
  unassigned.total(communicator, vanished);
  for (std::size_t f = 0; f < leaves; ++f) {
    families_.count_drop(f, by_family[f]);
    families_.unassigned_of(f) += vanished[f];
  }
  add_to_expected();
  return by_family[leaves];
}

/// The part that a place in a cell of the block counts to, or zero, and its family. Beside a thin wall it is that of the nearest
/// cell whose centre the place sees.
template <int D>
std::array<std::int32_t, 2> VolumeBudget<D>::label_and_family(const Coord<D>& cell, const Vec<double, D>& at,
                                                              const std::int32_t* around) const {
  const Coord<D> strides = c_strides<D>(grid_.local_shape());
  const Index own = dot<D>(cell, strides);
  const bool beside = walls_ && walls_->clearance()[own] == 0;
  const std::int32_t label = beside ? label_seen(cell, at, around) : around[own];
  if (label) return {label, families_.of_parts()[label]};
  Coord<D> in_domain = cell;
  for (std::size_t d = 0; d < D; ++d) in_domain[d] += grid_.first_cell()[d];
  return {0, family_of_vanished(in_domain, at)};
}

template <int D>
std::int32_t VolumeBudget<D>::label_seen(const Coord<D>& cell, const Vec<double, D>& at, const std::int32_t* around) const {
  constexpr int block = grid::block_cells<D>;
  const Coord<D> strides = c_strides<D>(grid_.local_shape());
  std::array<Vec<double, D>, block> center;
  std::array<std::int32_t, block> label;
  int count = 0;
  for (int q = 0; q < block; ++q) {
    const Coord<D> offset = grid::block_offset<D>(q);
    Index number = 0;
    for (int d = 0; d < D; ++d) {
      const Index there = cell[d] + offset[d], image = grid::image_of_cell<D>(grid_, d, there);
      number = number < 0 || image < 0 ? -1 : number + image * strides[d];
      center[count][d] = grid_.origin()[d] + (static_cast<double>(there) + 0.5) * grid_.spacing();
    }
    if (number < 0 || around[number] == 0) continue;
    label[count++] = around[number];
  }
  const std::uint32_t hidden = count ? walls_->hidden(at, center.data(), count, nullptr) : 0;
  double nearest = std::numeric_limits<double>::max();
  std::int32_t found = 0;
  for (Index q = 0; q < count; ++q) {
    double distance = 0.0;
    for (int d = 0; d < D; ++d) distance += (center[q][d] - at[d]) * (center[q][d] - at[d]);
    if (((hidden >> q) & 1u) || distance >= nearest) continue;
    nearest = distance;
    found = label[q];
  }
  return found;
}

/// Moves the volumes of flagged drops, times `sign`, to the parts around them. Returns what goes to those that have left.
template <int D>
template <class T>
double VolumeBudget<D>::transfer_drops(grid::ParticleSet& drops, const std::uint8_t* flags, double sign, const Solid* solid,
                                       Workspace& workspace) {
  const Index n = drops.size();
  const surface::SprayColumns<T, D> s(drops);
  const auto volumes = workspace.take<double>(n);
  for (Index i = 0; i < n; ++i)
    volumes.data()[i] = flags[i] ? sign * surface::ball_volume<D>(static_cast<double>(s.radius[i])) : 0.0;
  return transfer(s.position, volumes.data(), n, solid, workspace);
}

template <int D>
double VolumeBudget<D>::add_volumes(const double* positions, const double* volumes, Index n, const Solid* solid,
                                    Workspace& workspace) {
  return transfer(positions, volumes, n, solid, workspace);
}

/// The family of parts that have vanished near a cell of the domain, and are seen from a place in it; 0 for none.
template <int D>
std::int32_t VolumeBudget<D>::family_of_vanished(const Coord<D>& cell, const Vec<double, D>& at) const {
  const auto is_near = [&](const Vanished& v) {
    Vec<double, D> center;
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      if (std::abs(v.cell[a] - cell[a]) > spread) return false;
      center[d] = grid_.origin()[d] + (static_cast<double>(v.cell[a]) + 0.5) * grid_.spacing();
    }
    return !walls_ || walls_->hidden(at, &center, 1, nullptr) == 0;
  };
  const auto found = std::find_if(vanished_.begin(), vanished_.end(), is_near);
  return found == vanished_.end() ? 0 : found->family;
}

template <int D>
template <class T>
double VolumeBudget<D>::subtract_drops(grid::ParticleSet& drops, Index first, const Solid* solid, Workspace& workspace) {
  const auto flags = workspace.take<std::uint8_t>(drops.size());
  for (Index i = 0; i < drops.size(); ++i) flags.data()[i] = i >= first;
  return transfer_drops<T>(drops, flags.data(), -1.0, solid, workspace);
}

template <int D>
template <class T>
double VolumeBudget<D>::add_joining_drops(grid::ParticleSet& drops, grid::Field<T, D>& levelset, double time, const Solid* solid,
                                          Workspace& workspace) {
  const auto flags = surface::flag_returned(levelset, drops, -1, 1.0, time, workspace);
  return transfer_drops<T>(drops, flags.data(), 1.0, solid, workspace);
}

template double VolumeBudget<2>::add_volumes(const double*, const double*, Index, const Solid*, Workspace&);
template double VolumeBudget<3>::add_volumes(const double*, const double*, Index, const Solid*, Workspace&);
#define MENISCUS_INSTANTIATE(T, D)                                                                         \
  template double VolumeBudget<D>::subtract_drops<T>(grid::ParticleSet&, Index, const Solid*, Workspace&); \
  template double VolumeBudget<D>::add_joining_drops<T>(grid::ParticleSet&, grid::Field<T, D>&, double, const Solid*, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
