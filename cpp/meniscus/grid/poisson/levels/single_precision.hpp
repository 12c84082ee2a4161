/// Coefficients of a Poisson matrix in the single precision of its geometric cycle, whatever their size and contrast.
#pragma once

#include "meniscus/grid/poisson/face_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::grid {

/// Of coefficients in single precision, whose products with solutions stay finite: smaller ones are left out there, larger ones
/// cut down. Such contrasts are beyond the geometric cycle, which has to be definite all the same.
inline constexpr float least_coefficient = 0x1p-50f, most_coefficient = 0x1p50f;
/// Typical coefficients within these need no other unit.
inline constexpr double least_in_unit = 0x1p-30, most_in_unit = 0x1p30;

/// The unit in which the coefficients of the open medium are far from the ends of single precision.
template <int D>
double unit_of(const FaceMatrix<double, D>& a) {
  double largest = a.mass;
  for (double c : a.open_coupling) largest = std::max(largest, c);
  return largest == 0 || (largest >= least_in_unit && largest <= most_in_unit) ? 1.0 : std::ldexp(1.0, -std::ilogb(largest));
}

/// Rounds a coefficient to single precision. What equals that of the open medium still does, and what differs from it still
/// differs, so that rows have the same kind (and bits) whether it is derived from the one or the other.
class ToSingle {
 public:
  ToSingle(double unit, double open, float single) : unit_(unit), open_(open), single_(single) {
    lower_ = std::nextafter(single, 0.0f);
    upper_ = std::nextafter(single, std::numeric_limits<float>::max());
  }
  float operator()(double x) const {
    const double scaled = unit_ * x;
    const float y = scaled < static_cast<double>(least_coefficient)
                        ? 0.0f
                        : static_cast<float>(std::min(scaled, static_cast<double>(most_coefficient)));
    const float other = x < open_ ? lower_ : upper_;
    return x == open_ ? single_ : y == single_ ? other : y;
  }

 private:
  double unit_, open_;
  float single_, lower_, upper_;
};

/// The same for a diagonal entry: it stays positive, and no smaller than the sum of the coefficients of its row.
class DiagonalToSingle {
 public:
  DiagonalToSingle(double unit, double open, float single) : unit_(unit), inner_(unit, open, single) {}
  float operator()(double x) const {
    const double scaled = unit_ * x;
    if (x > 0 && scaled < static_cast<double>(least_coefficient)) return least_coefficient;
    if (scaled > static_cast<double>(most_coefficient))
      return static_cast<float>(std::min(scaled, 8.0 * static_cast<double>(most_coefficient)));
    return inner_(x);
  }

 private:
  double unit_;
  ToSingle inner_;
};

}  // namespace meniscus::grid
