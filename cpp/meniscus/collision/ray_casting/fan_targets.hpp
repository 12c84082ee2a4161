/// The ends of a fan of segments from one origin, side by side in memory: most of them a wedge does not come near.
#pragma once

#include "meniscus/collision/ray_casting/ray_wedge.hpp"

#include <span>
#if defined(__SSE2__)
#include <emmintrin.h>
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
        way_[d][i / lanes][static_cast<Index>(i % lanes)] =
            static_cast<float>(p[static_cast<Index>(d)] - origin_[static_cast<Index>(d)]);
    }
    for (std::size_t i = count_; i % lanes != 0; ++i)
      for (auto& w : way_) w[i / lanes][static_cast<Index>(i % lanes)] = 0.0f;
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

  /// `reach`: that of boxes.
  Meeting meet(const WedgeTriangle& w, const WedgeDirections& directions, double reach) const {
    std::array<Eigen::Vector3f, 3> from_corner;
    for (std::size_t k = 0; k < 3; ++k) from_corner[k] = (origin_ - w.corner[k]).cast<float>();
    const Eigen::Vector3f most_of = from_corner[0].cwiseMax(from_corner[1]).cwiseMax(from_corner[2]);
    const Eigen::Vector3f least_of = from_corner[0].cwiseMin(from_corner[1]).cwiseMin(from_corner[2]);
    const float far = std::max(most_of.maxCoeff(), -least_of.minCoeff());
    const float limit = static_cast<float>(reach + std::max(w.high, -w.low) + doubt * longest_) + static_cast<float>(doubt) * far;
    const float height = directions.normal.dot(from_corner[0]);
    Meeting result;
    for (std::size_t first = 0; first < count_; first += lanes) {
      const std::size_t k = first / lanes;
      const Lanes rise = along(directions.normal, k);
      Lanes gap = (height + rise.min(0.0f)).max(-height - rise.max(0.0f));
      for (std::size_t d = 0; d < 3; ++d) {
        const auto i = static_cast<Index>(d);
        gap = gap.max((way_[d][k].min(0.0f) + least_of[i]).max(-most_of[i] - way_[d][k].max(0.0f)));
      }
      const std::uint32_t near = ~bits_above(gap, limit) & ((1u << lanes) - 1u);
      if (near == 0) continue;
      // The part of each way between the planes `limit` above and below; all of it where that cannot be told. `down`: what the
      // origin is above the plane, seen from the side that it is left from.
      const Lanes steep = rise.abs().max(1e-30f);
      const Lanes down = (rise < 0.0f).select(Lanes::Constant(height), Lanes::Constant(-height));
      const Lanes from = ((down - limit) / steep).max(0.0f).min(1.0f), to = ((down + limit) / steep).max(0.0f).min(1.0f);
      // Through the plane from one side to the other, beyond its reach.
      Lanes inner = down.min(steep - down) - limit;
      Lanes outer = Lanes::Constant(-1.0f);
      for (std::size_t e = 0; e < 3; ++e) {
        const float start = directions.outward[e].dot(from_corner[e]);
        const Lanes out = along(directions.outward[e], k);
        const Lanes begin = start + from * out, end = start + to * out;
        outer = outer.max(begin.min(end) - limit);
        inner = inner.min(-limit - begin.max(end));
      }
      result.near |= (near & ~bits_above(outer, 0.0f)) << first;
      result.through |= bits_above(inner, 0.0f) << first;
    }
    const std::uint32_t all = count_ < most ? (1u << count_) - 1u : ~0u;
    result.near &= all;
    result.through &= result.near;
    return result;
  }

 private:
  static constexpr std::size_t lanes = 8;
  using Lanes = Eigen::Array<float, static_cast<int>(lanes), 1>;
  static constexpr double doubt = 3e-6;

  /// Bit i is set where lane i is above a limit; not for NaN.
  static std::uint32_t bits_above(const Lanes& values, float limit) {
#if defined(__SSE2__)
    const __m128 bound = _mm_set1_ps(limit);
    const auto half = [&](Index i) {
      return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmpgt_ps(_mm_load_ps(values.data() + i), bound)));
    };
    return half(0) | half(4) << 4;
#else
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < lanes; ++j) bits |= static_cast<std::uint32_t>(values[static_cast<Index>(j)] > limit) << j;
    return bits;
#endif
  }
  Lanes along(const Eigen::Vector3f& v, std::size_t k) const { return v[0] * way_[0][k] + v[1] * way_[1][k] + v[2] * way_[2][k]; }

  mesh::Point origin_;
  std::size_t count_;
  mesh::Box box_;
  double longest_ = 0;
  /// From the origin to the targets.
  std::array<std::array<Lanes, most / lanes>, 3> way_;
};

}  // namespace meniscus::collision
