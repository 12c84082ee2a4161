/// Unsigned distances in strips, in units of the spacing, while a level set is made a distance function.
///
/// Only strips that were touched hold numbers, so that the work follows the band and not the domain. The sign says whether a
/// sample may change: u >= 0 is an estimate that may get smaller; u < 0 is final, and its magnitude the distance. Samples that
/// take no part (hidden ones, and lanes beyond the end of a row) are final and infinitely far.
#pragma once

#include "meniscus/surface/strips.hpp"

#include <limits>

namespace meniscus {

/// Infinitely far; its square is finite in float.
inline constexpr double far_away = 1e18;

/// Between which samples the distance may pass. `hidden` samples are neither sources nor targets.
struct EverySample {
  static constexpr bool all_visible = true;
  bool hidden(Index /*sample*/) const { return false; }
};
struct MaskedSamples {
  static constexpr bool all_visible = false;
  const std::uint8_t* mask;  ///< owned extents of the field, nonzero where hidden
  bool hidden(Index sample) const { return mask[sample] != 0; }
};

template <class T, int D>
struct DistanceStrips {
  StripGrid<D> grid;
  Coord<D> extents;
  Workspace::Lease<T> values;
  Workspace::Lease<std::uint8_t> touched;

  DistanceStrips(const FieldLayout<D>& layout, Workspace& workspace)
      : grid(layout),
        extents(layout.extents()),
        values(workspace.take<T>(grid.strips() * strip_lanes)),
        touched(workspace.take<std::uint8_t>(grid.strips())) {
    parallel_for(0, grid.strips(), 1 << 18,
                 [&](Index b, Index e) { std::fill(touched.data() + b, touched.data() + e, std::uint8_t{0}); });
    nowhere.fill(static_cast<T>(far_away));
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
    for (int k = 0; k < strip_lanes; ++k) u[k] = static_cast<T>(k < p.lanes ? far_away : -far_away);
    if constexpr (!Visibility::all_visible) {
      const Index sample = this->sample(p.start);
      for (int k = 0; k < p.lanes; ++k)
        if (visibility.hidden(sample + k)) u[k] = static_cast<T>(-far_away);
    }
    return u;
  }

  /// Linear index in the owned extents of the field.
  Index sample(const Coord<D>& c) const {
    Index n = 0;
    for (int d = 0; d < D; ++d) n = n * extents[d] + c[d] + grid.first[d];
    return n;
  }

  std::array<T, strip_lanes> nowhere;
};

/// The solution u of sum_d max(u - a_d, 0)^2 = 1 for D neighbours (units of the spacing): Godunov's upwind discretisation of
/// |grad u| = 1. Far neighbours drop out.
template <int D, class T>
MENISCUS_INLINE T eikonal_solution(std::array<T, D> a) {
  // Sorted, and relative to the smallest, so that a common offset costs no digits.
  for (std::size_t i = 0; i + 1 < D; ++i)
    for (std::size_t j = 0; j + 1 < D - i; ++j) {
      const T low = a[j] < a[j + 1] ? a[j] : a[j + 1], high = a[j] < a[j + 1] ? a[j + 1] : a[j];
      a[j] = low;
      a[j + 1] = high;
    }
  const T b = a[1] - a[0];
  const T two = T(2) - b * b;
  T u = b < T(1) ? (b + std::sqrt(two > T(0) ? two : T(0))) / T(2) : T(1);
  if constexpr (D == 3) {
    const T c = a[2] - a[0], s = b + c;
    const T three = s * s - T(3) * (b * b + c * c - T(1));
    const T v = (s + std::sqrt(three > T(0) ? three : T(0))) / T(3);
    u = u > c ? v : u;
  }
  return a[0] + u;
}

}  // namespace meniscus
