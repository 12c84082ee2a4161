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

/// What is seen of a triangle at once, in single precision: its unit normal, and unit vectors in its plane across the edges from
/// corner k to corner k + 1, towards outside; zero for triangles without area.
struct WedgeDirections {
  Eigen::Vector3f normal;
  std::array<Eigen::Vector3f, 3> outward;

  static WedgeDirections of(const WedgeTriangle& w) {
    WedgeDirections result{w.normal.cast<float>(), {}};
    for (std::size_t k = 0; k < 3; ++k) {
      const mesh::Point across = (w.corner[(k + 1) % 3] - w.corner[k]).cross(w.normal);
      const double length = across.norm();
      result.outward[k].setZero();
      if (length > 0) result.outward[k] = (across / length).cast<float>();
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
  static MENISCUS_INLINE type along(const Eigen::Vector3f& v, const type* way) {
    return v[0] * way[0] + v[1] * way[1] + v[2] * way[2];
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
  MENISCUS_INLINE Meeting meet(FanLanes<width>, const WedgeTriangle& w, const WedgeDirections& directions, double reach) const {
    std::array<Eigen::Vector3f, 3> from_corner;
    for (std::size_t k = 0; k < 3; ++k) from_corner[k] = (origin_ - w.corner[k]).cast<float>();
    const Eigen::Vector3f most_of = from_corner[0].cwiseMax(from_corner[1]).cwiseMax(from_corner[2]);
    const Eigen::Vector3f least_of = from_corner[0].cwiseMin(from_corner[1]).cwiseMin(from_corner[2]);
    const float far = std::max(most_of.maxCoeff(), -least_of.minCoeff());
    const float limit = static_cast<float>(reach + std::max(w.high, -w.low) + doubt * longest_) + static_cast<float>(doubt) * far;
    const float height = directions.normal.dot(from_corner[0]);
    using L = FanLanes<width>;
    using Lanes = typename L::type;
    const Lanes zero{};
    Meeting result;
    for (std::size_t first = 0; first < count_; first += width) {
      const Lanes way[3]{L::from(way_[0] + first), L::from(way_[1] + first), L::from(way_[2] + first)};
      const Lanes rise = L::along(directions.normal, way);
      Lanes gap = L::larger(height + L::smaller(rise, zero), -height - L::larger(rise, zero));
      for (std::size_t d = 0; d < 3; ++d) {
        const auto i = static_cast<Index>(d);
        gap = L::larger(gap, L::larger(L::smaller(way[d], zero) + least_of[i], -most_of[i] - L::larger(way[d], zero)));
      }
      const std::uint32_t near = ~L::above(gap, limit) & ((1u << width) - 1u);
      if (near == 0) continue;
      // The part of each way between the planes `limit` above and below; all of it where that cannot be told. `down`: what the
      // origin is above the plane, seen from the side that it is left from.
      const Lanes steep = L::larger(L::larger(rise, -rise), zero + 1e-30f);
      const Lanes down = rise < zero ? zero + height : zero - height;
      const Lanes from = L::smaller(L::larger((down - limit) / steep, zero), zero + 1.0f);
      const Lanes to = L::smaller(L::larger((down + limit) / steep, zero), zero + 1.0f);
      // Through the plane from one side to the other, beyond its reach.
      Lanes inner = L::smaller(down, steep - down) - limit;
      Lanes outer = zero - 1.0f;
      for (std::size_t e = 0; e < 3; ++e) {
        const float start = directions.outward[e].dot(from_corner[e]);
        const Lanes out = L::along(directions.outward[e], way);
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
