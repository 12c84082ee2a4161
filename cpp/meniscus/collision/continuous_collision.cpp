#include "meniscus/collision/continuous_collision.hpp"

#include "meniscus/collision/ccd_exact.hpp"

#include <cmath>

namespace meniscus {

void find_contacts(PairKind kind, ContactMode mode, std::span<const Point> start, std::span<const Point> end,
                   std::span<const Stencil> pairs, std::uint8_t* out) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::array<Point, 4> a;
    std::array<Point, 4> b;
    for (std::size_t k = 0; k < 4; ++k) {
      a[k] = start[static_cast<std::size_t>(pairs[i][k])];
      b[k] = end[static_cast<std::size_t>(pairs[i][k])];
    }
    out[i] = contact_by_algebra(kind, mode, a, b);
  }
}

double time_of_impact(PairKind kind, const std::array<Point, 4>& start, const std::array<Point, 4>& end, double tolerance,
                      double latest) {
  const int bits = std::clamp(1 - std::ilogb(tolerance), 1, 1074);
  const double t = first_contact_by_algebra(kind, start, end, bits);
  return latest < 1 && t > latest ? std::numeric_limits<double>::infinity() : t;
}

}  // namespace meniscus
