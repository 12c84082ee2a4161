/// Location and interpolation of lanes of points, as plain loops for the vectoriser (included by kernels only; see simd.hpp).
#pragma once

#include "meniscus/grid/transport/point_lanes.hpp"
#include "meniscus/grid/transport/point_sampler.hpp"
#include "meniscus/numerics/interpolation_1d.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace meniscus::grid {
namespace detail {

/// Cells of the lanes: offset of the lowest corner from the first sample of the run, and position in the cell.
template <class T, int D>
struct LaneCells {
  Lanes<std::int32_t> offset;
  LaneVectors<T, D> fraction;
  Lanes<std::int32_t> slow;  ///< nonzero: not to be sampled here
};

/// Offsets are 32-bit. Lanes that would go farther on a very large block take the slow path.
template <int D>
Index reach(const Coord<D>& strides) {
  Index sum = 0;
  for (Index s : strides) sum += s;
  return std::min<Index>((std::numeric_limits<std::int32_t>::max() - 2 * row_block) / sum - 2, Index{1} << 22);
}

/// Finds the cell of every lane. `margin`: samples needed on each side of the cell (0 linear, 1 cubic).
template <class T, int D>
MENISCUS_INLINE void locate(const FieldView<const T, D>& view, const RowRun<D>& run, const LaneVectors<T, D>& displacement,
                            int margin, LaneCells<T, D>& cells) {
  const auto limit = static_cast<T>(reach<D>(view.strides));
  std::array<T, D> low;
  std::array<T, D> high;
  std::array<std::int32_t, D> stride;
  for (std::size_t d = 0; d < D; ++d) {
    low[d] = larger(static_cast<T>(-ghost_width + margin - run.base[d]), -limit);
    high[d] = smaller(static_cast<T>(view.extents[d] + ghost_width - 2 - margin - run.base[d]), limit);
    stride[d] = static_cast<std::int32_t>(view.strides[d]);
  }
  for (int l = 0; l < run.count; ++l) {
    // One pass over the axes per lane; written out, because the vectoriser wants the axis loop gone.
    const T lane = static_cast<T>(l);
    const T x0 = displacement[0][l];
    const T x1 = displacement[1][l];
    const T c0 = std::floor(x0);
    const T c1 = std::floor(x1);
    cells.fraction[0][l] = x0 - c0;
    cells.fraction[1][l] = x1 - c1;
    bool inside = (c0 >= low[0]) & (c0 <= high[0]);  // false for NaN
    std::int32_t offset = l;
    if constexpr (D == 2) {
      inside = inside & (c1 >= low[1] - lane) & (c1 <= high[1] - lane);
      offset += static_cast<std::int32_t>(inside ? c0 : T(0)) * stride[0] + static_cast<std::int32_t>(inside ? c1 : T(0));
    } else {
      const T x2 = displacement[2][l];
      const T c2 = std::floor(x2);
      cells.fraction[2][l] = x2 - c2;
      inside = inside & (c1 >= low[1]) & (c1 <= high[1]) & (c2 >= low[2] - lane) & (c2 <= high[2] - lane);
      offset += static_cast<std::int32_t>(inside ? c0 : T(0)) * stride[0] +
                static_cast<std::int32_t>(inside ? c1 : T(0)) * stride[1] + static_cast<std::int32_t>(inside ? c2 : T(0));
    }
    cells.offset[l] = offset;
    cells.slow[l] = inside ? 0 : 1;
  }
}

/// Two neighbouring samples. Floats come as one 64-bit load, which halves the number of gathered elements.
MENISCUS_INLINE void load_pair(const float* p, float& first, float& second) {
  using Bits __attribute__((aligned(4), may_alias)) = std::uint64_t;
  const std::uint64_t bits = *reinterpret_cast<const Bits*>(p);
  static_assert(std::endian::native == std::endian::little);
  first = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  second = std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32));
}
MENISCUS_INLINE void load_pair(const double* p, double& first, double& second) {
  first = p[0];
  second = p[1];
}

/// Linear interpolation of every lane. With Bounds, also the extremes of the corners, between which the value is kept (rounding
/// could carry it past by one unit in the last place).
template <bool Bounds, class T, int D>
MENISCUS_INLINE void linear_lanes(const T* p, const Coord<D>& strides, const LaneCells<T, D>& c, int n, LaneSamples<T>& out) {
  const auto s0 = static_cast<std::int32_t>(strides[0]);
  for (int l = 0; l < n; ++l) {
    const std::int32_t i = c.offset[l];
    T value, low, high;
    if constexpr (D == 2) {
      T c00, c01, c10, c11;
      load_pair(p + i, c00, c01);
      load_pair(p + i + s0, c10, c11);
      value = numerics::lerp(numerics::lerp(c00, c01, c.fraction[1][l]), numerics::lerp(c10, c11, c.fraction[1][l]),
                             c.fraction[0][l]);
      low = smaller(smaller(c00, c01), smaller(c10, c11));
      high = larger(larger(c00, c01), larger(c10, c11));
    } else {
      const auto s1 = static_cast<std::int32_t>(strides[1]);
      T c000, c001, c010, c011, c100, c101, c110, c111;
      load_pair(p + i, c000, c001);
      load_pair(p + i + s1, c010, c011);
      load_pair(p + i + s0, c100, c101);
      load_pair(p + i + s0 + s1, c110, c111);
      const T fz = c.fraction[2][l];
      const T fy = c.fraction[1][l];
      value =
          numerics::lerp(numerics::lerp(numerics::lerp(c000, c001, fz), numerics::lerp(c010, c011, fz), fy),
                         numerics::lerp(numerics::lerp(c100, c101, fz), numerics::lerp(c110, c111, fz), fy), c.fraction[0][l]);
      low = smaller(smaller(smaller(c000, c001), smaller(c010, c011)), smaller(smaller(c100, c101), smaller(c110, c111)));
      high = larger(larger(larger(c000, c001), larger(c010, c011)), larger(larger(c100, c101), larger(c110, c111)));
    }
    if constexpr (Bounds) {
      out.low[l] = low;
      out.high[l] = high;
      out.value[l] = smaller(larger(value, low), high);
    } else {
      out.value[l] = value;
    }
  }
}

template <bool Monotone, class T>
MENISCUS_INLINE T cubic(T a, T b, T c, T d, T t) {
  if constexpr (Monotone) return numerics::monotone_cubic(a, b, c, d, t);
  return numerics::catmull_rom(a, b, c, d, t);
}

/// Cubic interpolation along the last axis for the row of the stencil at `shift`.
template <bool Monotone, class T, int D>
MENISCUS_INLINE void cubic_row_lanes(const T* p, std::int32_t shift, const LaneCells<T, D>& c, int n, Lanes<T>& out) {
  for (int l = 0; l < n; ++l) {
    const std::int32_t i = c.offset[l] + shift;
    out[l] = cubic<Monotone>(p[i - 1], p[i], p[i + 1], p[i + 2], c.fraction[D - 1][l]);
  }
}

template <bool Monotone, class T>
MENISCUS_INLINE void cubic_join_lanes(const std::array<Lanes<T>, 4>& rows, const Lanes<T>& fraction, int n, Lanes<T>& out) {
  for (int l = 0; l < n; ++l) out[l] = cubic<Monotone>(rows[0][l], rows[1][l], rows[2][l], rows[3][l], fraction[l]);
}

template <bool Monotone, class T, int D>
MENISCUS_INLINE void cubic_lanes(const T* p, const Coord<D>& strides, const LaneCells<T, D>& c, int n, Lanes<T>& out) {
  std::array<Lanes<T>, 4> rows;
  const auto s0 = static_cast<std::int32_t>(strides[0]);
  for (int a = 0; a < 4; ++a) {
    if constexpr (D == 2) {
      cubic_row_lanes<Monotone, T, D>(p, (a - 1) * s0, c, n, rows[a]);
    } else {
      const auto s1 = static_cast<std::int32_t>(strides[1]);
      std::array<Lanes<T>, 4> inner;
      for (int b = 0; b < 4; ++b) cubic_row_lanes<Monotone, T, D>(p, (a - 1) * s0 + (b - 1) * s1, c, n, inner[b]);
      cubic_join_lanes<Monotone>(inner, c.fraction[1], n, rows[a]);
    }
  }
  cubic_join_lanes<Monotone>(rows, c.fraction[0], n, out);
}

/// Either cubic.
template <class T, int D>
MENISCUS_INLINE void cubic_lanes(Interpolation interpolation, const T* p, const Coord<D>& strides, const LaneCells<T, D>& c,
                                 int n, Lanes<T>& out) {
  if (interpolation == Interpolation::cubic)
    cubic_lanes<true, T, D>(p, strides, c, n, out);
  else
    cubic_lanes<false, T, D>(p, strides, c, n, out);
}

template <class T, int D>
MENISCUS_INLINE std::array<T, D> lane(const LaneVectors<T, D>& v, int l) {
  std::array<T, D> x;
  for (int d = 0; d < D; ++d) x[d] = v[d][l];
  return x;
}

}  // namespace detail

/// Samples the source at run + displacement. Writes out.value; out.low and out.high too if Bounds.
template <bool Bounds, class T, int D, class Policy>
MENISCUS_INLINE void sample_row(const SampleSource<T, D>& source, const RowRun<D>& run, const LaneVectors<T, D>& displacement,
                                Interpolation interpolation, const Policy& policy, LaneSamples<T>& out) {
  const int n = run.count;
  const T* p = source.view.at(run.base);
  detail::LaneCells<T, D> cells;
  detail::locate(source.view, run, displacement, stencil_margin(interpolation), cells);
  if constexpr (!Policy::all_visible) {
    const Index start = p - source.view.origin;
    for (int l = 0; l < n; ++l)
      if (!policy.clear(start + cells.offset[l])) cells.slow[l] = 1;
  }
  if (interpolation == Interpolation::linear) {
    detail::linear_lanes<Bounds, T, D>(p, source.view.strides, cells, n, out);
  } else {
    if constexpr (Bounds) detail::linear_lanes<true, T, D>(p, source.view.strides, cells, n, out);
    detail::cubic_lanes<T, D>(interpolation, p, source.view.strides, cells, n, out.value);
  }
  int slow = 0;
  for (int l = 0; l < n; ++l) slow |= cells.slow[l];
  if (slow == 0) [[likely]]
    return;
  Coord<D> at = run.base;
  for (int l = 0; l < n; ++l, ++at[D - 1]) {
    if (!cells.slow[l]) continue;
    const PointSample<T> s = sample_point<T, D>(source, at, detail::lane<T, D>(displacement, l), interpolation, policy);
    out.value[l] = s.value;
    if constexpr (Bounds) {
      out.low[l] = s.low;
      out.high[l] = s.high;
    }
  }
}

}  // namespace meniscus::grid
