#include "meniscus/fluids/tet_vof/transport/solid_clipping.hpp"

#include <algorithm>

namespace meniscus::fluids {
namespace {

constexpr int most_steps = 32;

}  // namespace

void stop_at_solid(const mesh::Tet& tet, const std::array<mesh::Point, 4>& x, std::span<const double> distance_begin,
                   std::span<const double> distance_end, NearLocation& end, std::array<mesh::Point, 4>& y) {
  double edge = 0;
  for (std::size_t k = 1; k < 4; ++k) edge = std::max(edge, (x[k] - x[0]).norm());
  for (std::size_t k = 0; k < 4; ++k) {
    const double begin = distance_begin[static_cast<std::size_t>(tet[k])];
    const mesh::Point path = y[k] - x[k];
    const double length = path.norm();
    // The solid itself may come closer during the step, hence the factor.
    if (begin <= 0 || begin > 2 * length) continue;
    const int steps = std::clamp(static_cast<int>(std::ceil(length / edge)), 1, most_steps);
    double before = begin;
    for (int i = 1; i <= steps; ++i) {
      const mesh::Point p = x[k] + path * (static_cast<double>(i) / steps);
      const std::int32_t t = end.find(p);
      if (t < 0) break;
      double here = 0;
      for (std::size_t j = 0; j < 4; ++j) here += end.weights()[j] * distance_end[static_cast<std::size_t>(end.tet(t)[j])];
      if (here < 0) {
        y[k] = x[k] + path * ((static_cast<double>(i - 1) + before / (before - here)) / steps);
        break;
      }
      before = here;
    }
  }
}

}  // namespace meniscus::fluids
