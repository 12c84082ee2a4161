/// The ends of a fan of segments from one origin, side by side in memory: most of them a wedge does not come near.
#pragma once

#include "meniscus/collision/ray_casting/ray_wedge.hpp"
#include "meniscus/core/simd.hpp"

#include <cstring>
#include <span>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__GNUC__)
// Lanes never cross the boundary of a function that is called: everything here is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace meniscus::collision {

/// What is looked at of a wedge for all targets at once: its place, and all else in single precision, as seen from the first
/// corner.
struct alignas(64) SeenWedge {
  mesh::Point corner;
  /// By axis, four unit vectors: the normal, and those in the plane across the edges from corner k to corner k + 1, towards
  /// outside; zero for triangles without area.
  std::array<std::array<float, 4>, 3> direction;
  /// Heights of the first corner along these, above the plane and beyond the edges.
  std::array<float, 4> above;
  /// Per axis, how far the first corner is above the lowest and below the highest one.
  std::array<float, 3> over_lowest, below_highest;
  /// The largest of these, and how far corners are out of the plane.
  float largest, slab;

  static SeenWedge of(const WedgeTriangle& w) {
    SeenWedge result{w.corner[0], {}, {}, {}, {}, 0.0f, static_cast<float>(std::max(w.high, -w.low))};
    const auto set = [&](std::size_t i, const mesh::Point& v, const mesh::Point& on_it) {
      for (std::size_t d = 0; d < 3; ++d) result.direction[d][i] = static_cast<float>(v[static_cast<Index>(d)]);
      result.above[i] = static_cast<float>(v.dot(w.corner[0] - on_it));
    };
    set(0, w.normal, w.corner[0]);
    for (std::size_t k = 0; k < 3; ++k) {
      const mesh::Point across = (w.corner[(k + 1) % 3] - w.corner[k]).cross(w.normal);
      const double length = across.norm();
      if (length > 0) set(k + 1, across / length, w.corner[k]);
    }
    const mesh::Box box = w.box();
    for (std::size_t d = 0; d < 3; ++d) {
      const auto i = static_cast<Index>(d);
      result.over_lowest[d] = static_cast<float>(w.corner[0][i] - box.low[i]);
      result.below_highest[d] = static_cast<float>(box.high[i] - w.corner[0][i]);
      result.largest = std::max({result.largest, result.over_lowest[d], result.below_highest[d]});
    }
    return result;
  }
};

/// As many numbers in single precision as fit into one register of the instruction set in use.
template <int width>
struct FanLanes {
  using type [[gnu::vector_size(4 * width)]] = float;
  using Mask [[gnu::vector_size(4 * width)]] = std::int32_t;

  static MENISCUS_INLINE type from(const float* p) {
    type r;
    std::memcpy(&r, p, sizeof r);
    return r;
  }
  static MENISCUS_INLINE type larger(const type& a, const type& b) { return a > b ? a : b; }
  static MENISCUS_INLINE type smaller(const type& a, const type& b) { return a < b ? a : b; }
  /// Ways along one of four directions.
  static MENISCUS_INLINE type along(const std::array<std::array<float, 4>, 3>& v, std::size_t i, const type* way) {
    return v[0][i] * way[0] + v[1][i] * way[1] + v[2][i] * way[2];
  }
  /// Bit i is set where lane i is above a limit; not for NaN.
  static MENISCUS_INLINE std::uint32_t above(const type& values, float limit) {
    const Mask yes = values > limit;
    std::uint32_t bits = 0;
#if defined(__SSE2__)
    __m128 parts[width / 4];
    std::memcpy(parts, &yes, sizeof parts);
    for (int i = 0; i < width / 4; ++i) bits |= static_cast<std::uint32_t>(_mm_movemask_ps(parts[i])) << 4 * i;
#else
    for (int i = 0; i < width; ++i) bits |= static_cast<std::uint32_t>(yes[i] != 0) << i;
#endif
    return bits;
  }
};

/// Calls f with the lanes of the instruction set in use, compiled for it.
template <class F>
void with_fan_lanes(F&& f) {
#if defined(MENISCUS_SIMD_CLONES)
  if (core::simd_level() != core::SimdLevel::baseline) {
    const auto wide = [&] { f(FanLanes<8>()); };
    return core::detail::run_avx2(wide);
  }
#endif
#if defined(__AVX2__)
  constexpr int built_for = 8;
#else
  constexpr int built_for = 4;
#endif
  const auto run = [&] { f(FanLanes<built_for>()); };
  core::detail::run_baseline(run);
}

/// In the lengths of the wedges. What is asked about all segments at once is answered in single precision, relative to the
/// origin: round-off is some 1e-7 of the lengths of the segments and of the distances of corners, and `doubt` of these counts as
/// near.
class FanTargets {
 public:
  static constexpr std::size_t most = 32;

  /// At most 32 targets.
  FanTargets(const mesh::Point& origin, std::span<const mesh::Point> targets, double scale)
      : origin_(scale * origin), count_(targets.size()) {
    box_.add(origin_);
    for (std::size_t i = 0; i < count_; ++i) {
      const mesh::Point p = scale * targets[i];
      box_.add(p);
      for (std::size_t d = 0; d < 3; ++d)
        way_[d][i] = static_cast<float>(p[static_cast<Index>(d)] - origin_[static_cast<Index>(d)]);
    }
    for (std::size_t i = count_; i % widest != 0; ++i)
      for (auto& w : way_) w[i] = 0.0f;
    longest_ = (box_.high - box_.low).maxCoeff();
  }

  const mesh::Box& box() const { return box_; }

  /// What can be said at once about the segments and a wedge.
  struct Meeting {
    /// Bit i is set unless segment i keeps more than the reach from the triangle, seen along its normal, one of the axes or,
    /// where it is within reach of the plane, across one of the edges. `segment_meets_wedge` lets none of the others pass.
    std::uint32_t near = 0;
    /// Of these, those that pass through the inside of the triangle: they meet the wedge.
    std::uint32_t through = 0;
  };

  /// For use inside of `with_fan_lanes`. `reach`: that of boxes.
  template <int width>
  MENISCUS_INLINE Meeting meet(FanLanes<width>, const SeenWedge& w, double reach) const {
    using Four = FanLanes<4>;
    std::array<float, 3> place;
    for (std::size_t d = 0; d < 3; ++d)
      place[d] = static_cast<float>(origin_[static_cast<Index>(d)] - w.corner[static_cast<Index>(d)]);
    const float far = std::max({std::abs(place[0]), std::abs(place[1]), std::abs(place[2])}) + w.largest;
    const float limit = static_cast<float>(reach + doubt * longest_) + w.slab + static_cast<float>(doubt) * far;
    // Of the origin: above the plane, and beyond the three edges.
    typename Four::type height = Four::from(w.above.data());
    for (std::size_t d = 0; d < 3; ++d) height += Four::from(w.direction[d].data()) * place[d];
    using L = FanLanes<width>;
    using Lanes = typename L::type;
    const Lanes zero{};
    Meeting result;
    for (std::size_t first = 0; first < count_; first += width) {
      const Lanes way[3]{L::from(way_[0] + first), L::from(way_[1] + first), L::from(way_[2] + first)};
      const Lanes rise = L::along(w.direction, 0, way);
      Lanes gap = L::larger(height[0] + L::smaller(rise, zero), -height[0] - L::larger(rise, zero));
      for (std::size_t d = 0; d < 3; ++d) {
        const float over_highest = place[d] - w.below_highest[d], under_lowest = -place[d] - w.over_lowest[d];
        gap = L::larger(gap, L::larger(L::smaller(way[d], zero) + over_highest, under_lowest - L::larger(way[d], zero)));
      }
      const std::uint32_t near = ~L::above(gap, limit) & ((1u << width) - 1u);
      if (near == 0) continue;
      // The part of each way between the planes `limit` above and below; all of it where that cannot be told. `down`: what the
      // origin is above the plane, seen from the side that it is left from.
      const Lanes steep = L::larger(L::larger(rise, -rise), zero + 1e-30f);
      const Lanes down = rise < zero ? zero + height[0] : zero - height[0];
      const Lanes from = L::smaller(L::larger((down - limit) / steep, zero), zero + 1.0f);
      const Lanes to = L::smaller(L::larger((down + limit) / steep, zero), zero + 1.0f);
      // Through the plane from one side to the other, beyond its reach.
      Lanes inner = L::smaller(down, steep - down) - limit;
      Lanes outer = zero - 1.0f;
      for (std::size_t e = 0; e < 3; ++e) {
        const float start = height[e + 1];
        const Lanes out = L::along(w.direction, e + 1, way);
        const Lanes begin = start + from * out, end = start + to * out;
        outer = L::larger(outer, L::smaller(begin, end) - limit);
        inner = L::smaller(inner, -limit - L::larger(begin, end));
      }
      result.near |= (near & ~L::above(outer, 0.0f)) << first;
      result.through |= L::above(inner, 0.0f) << first;
    }
    const std::uint32_t all = count_ < most ? (1u << count_) - 1u : ~0u;
    result.near &= all;
    result.through &= result.near;
    return result;
  }

 private:
  static constexpr std::size_t widest = 8;
  static constexpr double doubt = 3e-6;

  mesh::Point origin_;
  std::size_t count_;
  mesh::Box box_;
  double longest_ = 0;
  /// From the origin to the targets.
  float way_[3][most];
};

}  // namespace meniscus::collision
