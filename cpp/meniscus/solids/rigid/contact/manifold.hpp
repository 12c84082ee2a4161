/// Points of contact of one pair of bodies as they are found, and which of them to keep.
#pragma once

#include "meniscus/solids/rigid/contact/contact_point.hpp"

namespace meniscus::solids {

/// Of one pair; keeps its memory.
class Manifold {
 public:
  void clear() { points_.clear(); }
  /// A contact in the middle between two surfaces; the normal points from the second body to the first.
  void add(const Vector3& point, const Vector3& normal, double gap, std::uint64_t key) {
    ContactPoint& c = points_.emplace_back();
    c.point = point;
    c.normal = normal;
    c.gap = gap;
    c.key = key;
  }
  /// The points are those of an earlier step.
  void take(std::span<const ContactPoint> points) { points_.assign(points.begin(), points.end()); }
  /// Keeps at most four of the points from `first` on: the deepest, the one farthest from it, and those that span the largest
  /// areas with these on both sides.
  void keep_four(std::size_t first = 0);
  /// Keeps at most four points of each direction, of at most eight directions, deepest first.
  void keep_directions();
  std::span<const ContactPoint> points() const { return points_; }
  std::span<ContactPoint> points() { return points_; }
  /// The other body is the first.
  void flip() {
    for (ContactPoint& c : points_) c.normal = -c.normal;
  }

 private:
  std::vector<ContactPoint> points_, sorted_;
};

}  // namespace meniscus::solids
