/// Unsigned distances in strips, in units of the spacing, while a level set is turned into a distance function.
///
/// Only strips that were touched store numbers, so the work grows with the band and not with the domain. The sign tells whether a
/// sample may change: u >= 0 is an estimate that may get smaller; u < 0 is final, and its magnitude is the distance. Samples that
/// are not computed (hidden ones, and lanes beyond the end of a row) are final and infinitely far.
#pragma once

#include "meniscus/grid/strips/strip_queue.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

namespace meniscus::surface {

using grid::strip_lanes;
using grid::StripExchange;
using grid::StripGrid;
using grid::StripPlace;
using grid::StripQueue;

/// Infinitely far; its square is finite in float.
inline constexpr double infinite_distance = 1e18;
/// Of samples that are final, but within no band.
inline constexpr double no_distance = 0.75e18;

/// What samples are to the distance. `hidden` samples are neither sources nor targets; `continued` ones were extrapolated from
/// the others.
struct EverySample {
  static constexpr bool all_visible = true;
  bool hidden(Index /*sample*/) const { return false; }
  bool continued(Index /*sample*/) const { return false; }
  bool any_continued() const { return false; }
};
struct MaskedSamples {
  static constexpr bool all_visible = false;
  const std::uint8_t* hidden_mask;   ///< of the extents of a StripGrid, nonzero where hidden; or nullptr
  const std::uint8_t* outside_mask;  ///< zero where continued; or nullptr
  bool hidden(Index sample) const { return hidden_mask && hidden_mask[sample] != 0; }
  bool any_continued() const { return outside_mask != nullptr; }
  bool continued(Index sample) const { return outside_mask && outside_mask[sample] == 0; }
};

template <class T, int D>
struct DistanceStrips {
  const StripGrid<D>& grid;
  Workspace::Lease<T> values;
  Workspace::Lease<std::uint8_t> touched;

  DistanceStrips(const StripGrid<D>& strip_grid, Workspace& workspace)
      : grid(strip_grid),
        values(workspace.take<T>(grid.strips() * strip_lanes)),
        touched(workspace.take<std::uint8_t>(grid.strips())) {
    parallel_for(0, grid.strips(), 1 << 18,
                 [&](Index b, Index e) { std::fill(touched.data() + b, touched.data() + e, std::uint8_t{0}); });
    nowhere.fill(static_cast<T>(infinite_distance));
  }

  T* at(Index strip) const { return values.data() + strip * strip_lanes; }

  /// The values of a strip for reading: infinitely far where it was not touched or does not exist.
  const T* read(Index strip) const { return strip >= 0 && touched.data()[strip] ? at(strip) : nowhere.data(); }

  /// The values of a strip for writing.
  template <class Visibility>
  T* touch(const StripPlace<D>& p, const Visibility& visibility) const {
    T* u = at(p.strip);
    if (touched.data()[p.strip]) return u;
    touched.data()[p.strip] = 1;
    for (int k = 0; k < strip_lanes; ++k) u[k] = static_cast<T>(k < p.lanes ? infinite_distance : -infinite_distance);
    if constexpr (!Visibility::all_visible) {
      const Index sample = grid.sample(p.start);
      for (int k = 0; k < p.lanes; ++k)
        if (visibility.hidden(sample + k)) u[k] = static_cast<T>(-infinite_distance);
    }
    return u;
  }

  /// All values of a strip as one, for exchanges between blocks.
  std::array<T, strip_lanes>* whole_strips() const { return reinterpret_cast<std::array<T, strip_lanes>*>(values.data()); }

  std::array<T, strip_lanes> nowhere;
};

/// An integer of the size of T, for masks that share vector lanes with it.
template <class T>
using MaskOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// The solutions u of max(u - a, 0)^2 + max(u - b, 0)^2 [+ max(u - c, 0)^2] = 1 (units of the spacing), N at a time: Godunov's
/// upwind discretisation of |grad u| = 1. Far neighbours drop out. All values are relative to the smallest neighbour, so a common
/// offset loses no digits. A solution below `band` and `old` becomes the next value, else the old value stays. The loops are
/// separate because compilers move roots into branches, which do not vectorize.
template <int N, class T>
MENISCUS_INLINE void eikonal_solutions(const T* a, const T* b, T band, const T* old, T* next) {
  alignas(64) T root[N];
  for (int k = 0; k < N; ++k) {
    const T d = a[k] < b[k] ? b[k] - a[k] : a[k] - b[k];
    const T square = T(2) - d * d;
    root[k] = std::sqrt(square > T(0) ? square : T(0));
  }
  for (int k = 0; k < N; ++k) {
    const T low = a[k] < b[k] ? a[k] : b[k], d = a[k] < b[k] ? b[k] - a[k] : a[k] - b[k];
    const T two = (d + root[k]) * T(0.5);
    const T u = low + (d < T(1) ? two : T(1)), near = u < band ? u : static_cast<T>(infinite_distance);
    next[k] = near < old[k] ? near : old[k];
  }
}
template <int N, class T>
MENISCUS_INLINE void eikonal_solutions(const T* a, const T* b, const T* c, T band, const T* old, T* next) {
  alignas(64) T low[N], mid[N], high[N], two[N], three[N];
  for (int k = 0; k < N; ++k) {
    const T ab = a[k] < b[k] ? a[k] : b[k], ba = a[k] < b[k] ? b[k] : a[k];
    const T rest = ab < c[k] ? c[k] : ab;
    low[k] = ab < c[k] ? ab : c[k];
    mid[k] = ba < rest ? ba : rest;
    high[k] = ba < rest ? rest : ba;
  }
  for (int k = 0; k < N; ++k) {
    const T d = mid[k] - low[k], e = high[k] - low[k], s = d + e;
    const T square = T(2) - d * d, other = s * s - T(3) * (d * d + e * e - T(1));
    two[k] = std::sqrt(square > T(0) ? square : T(0));
    three[k] = std::sqrt(other > T(0) ? other : T(0));
  }
  for (int k = 0; k < N; ++k) {
    const T d = mid[k] - low[k], e = high[k] - low[k];
    const T v2 = (d + two[k]) * T(0.5), v3 = ((d + e) + three[k]) / T(3);
    const T v = d < T(1) ? v2 : T(1);
    const T u = low[k] + (v > e ? v3 : v), near = u < band ? u : static_cast<T>(infinite_distance);
    next[k] = near < old[k] ? near : old[k];
  }
}

}  // namespace meniscus::surface
