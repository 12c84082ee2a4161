// The part of a `VolumeBudget` that concerns drops: they take their volume from the liquid and bring it back.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_spray.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

/// Moves volumes at positions to the parts around them. Returns what goes to those that have left.
template <int D>
template <class T>
double VolumeBudget<D>::transfer(const T* positions, const double* volumes, Index n, const Solid* solid, Workspace& workspace) {
  if (std::none_of(volumes, volumes + n, [](double v) { return v != 0.0; })) return 0.0;
  const auto around = labels_around(labels_, spread, solid, workspace);
  const Coord<D> strides = c_strides<D>(grid_.local_shape());
  const NoInterrupts whole;
  amounts_.assign(expected_.size(), 0.0);
  double left = 0.0;
  // In their order, for the sake of the same bits.
  for (Index i = 0; i < n; ++i) {
    const double volume = volumes[i];
    if (volume == 0.0) continue;
    Coord<D> c;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const double at = std::floor((static_cast<double>(positions[i * D + d]) - grid_.origin()[d]) / grid_.spacing());
      c[axis] = static_cast<Index>(std::clamp(at, 0.0, static_cast<double>(grid_.local_shape()[axis] - 1)));
    }
    const std::int32_t label = around.data()[dot<D>(c, strides)];
    const std::int32_t family = label ? families_.of_parts()[static_cast<std::size_t>(label)] : family_of_vanished(c);
    if (family == VolumeFamilies::has_left) {
      left += volume;
      continue;
    }
    families_.count_drop(static_cast<std::size_t>(family), volume);
    (label ? amounts_[static_cast<std::size_t>(label)] : families_.unassigned_of(static_cast<std::size_t>(family))) += volume;
  }
  add_to_expected();
  return left;
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

/// The family of parts that have vanished near a cell; 0 for none.
template <int D>
std::int32_t VolumeBudget<D>::family_of_vanished(const Coord<D>& cell) const {
  const auto is_near = [&](const Vanished& v) {
    for (std::size_t d = 0; d < D; ++d)
      if (std::abs(v.cell[d] - cell[d]) > spread) return false;
    return true;
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
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
