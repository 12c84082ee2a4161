/// Axis-aligned boxes.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::mesh {

/// An axis-aligned box, m.
struct Box {
  Point low = Point::Constant(std::numeric_limits<double>::infinity());
  Point high = Point::Constant(-std::numeric_limits<double>::infinity());

  void add(const Point& p) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  void add(const Box& b) {
    low = low.cwiseMin(b.low);
    high = high.cwiseMax(b.high);
  }
  bool overlaps(const Box& b) const { return (low.array() <= b.high.array()).all() && (b.low.array() <= high.array()).all(); }
};

/// Squared distance of a point to a box; 0 inside.
inline double squared_distance(const Box& box, const Point& p) {
  double sum = 0;
  for (int d = 0; d < 3; ++d) {
    const double outside = std::max(std::max(box.low[d] - p[d], p[d] - box.high[d]), 0.0);
    sum += outside * outside;
  }
  return sum;
}

}  // namespace meniscus::mesh
