/// A moving vertex and face, or two moving edges, in differences of their points, with bounds of round-off.
///
/// The differences are a, b and c: of a face its edges from corner 1 to corners 2 and 3, and from corner 1 to the vertex; of two
/// edges their vectors from end to end, and from the first end of the first to the first end of the second. Differences of
/// positions are correctly rounded, wherever the pair is and however fast it moves as a whole. They come in units, a power of
/// two, in which the largest component of any of them, at the start or the end of the step, is between 1/2 and 1.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <array>
#include <span>

namespace meniscus::collision {

class MovingPair {
 public:
  /// All positions must be finite.
  MovingPair(PairKind kind, std::span<const mesh::Point, 4> start, std::span<const mesh::Point, 4> end);

  PairKind kind() const { return kind_; }

  /// A vector that is linear in the time.
  struct Moving {
    mesh::Point start;
    mesh::Point end;
    mesh::Point at(double t) const { return (1 - t) * start + t * end; }
    mesh::Point change() const { return end - start; }
  };
  const Moving& a() const { return a_; }
  const Moving& b() const { return b_; }
  const Moving& c() const { return c_; }

  /// Largest extent of an element along an axis, at the start or the end.
  double size() const { return size_; }
  /// Bound of the round-off of a distance, and of a projection of `separated`.
  double round_off() const { return round_off_; }
  /// Bound of the round-off of a coefficient of `never_coplanar`.
  double cubic_error() const { return cubic_error_; }
  /// No two points of the elements move faster relative to each other, per step.
  double speed() const { return speed_; }

  /// From a closest point of the first element to one of the second.
  mesh::Point gap(double t) const;

  /// True if the projections on a direction stay farther apart than a distance between two times, in spite of round-off. They are
  /// linear in the time, so the ends decide.
  bool separated(double from, double to, const mesh::Point& direction, double distance) const;

  /// True if the four points are certainly not coplanar at any time between two.
  bool never_coplanar(double from, double to) const;

 private:
  PairKind kind_;
  Moving a_, b_, c_;
  double size_, round_off_, cubic_error_, speed_;
};

}  // namespace meniscus::collision
