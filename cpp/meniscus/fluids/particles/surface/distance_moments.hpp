/// Moments of particles and of the distances that they carry, and the plane or sphere that fits them.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/particles/surface/distance_fits.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace meniscus::fluids {
namespace distance_fit {

/// Least spread of particles, in squared cells, across which a slope can be fitted.
inline constexpr double least_spread = 1e-3;

/// A fit is trusted where particles agree on it, and where its slope is that of a distance, 1: fully up to the first deviation,
/// not at all from the second.
struct Deviations {
  double full, none;
  double trust(double deviation) const { return std::clamp((none - deviation) / (none - full), 0.0, 1.0); }
};
inline constexpr Deviations of_particles{0.05, 0.15};  ///< root mean square, in cells
inline constexpr Deviations of_slope{0.1, 0.3};

/// Least spread of bends, in squared cells, to which a curvature can be fitted; the largest one, of a sphere of a cell and a
/// half; and what is left of 1 + 4 curvature distance at its centre.
inline constexpr double least_bend = 0.05, most_bend = 1.0 / 3.0, least_root = 0.04;

/// Where all distances are deeper than this, in cells, particles need not agree: only the sign matters, and regions know their
/// distance near their surface alone.
inline constexpr double deep_distance = 1.0;

}  // namespace distance_fit

/// Sums over particles, of positions from a centre and of distances; and the largest distance.
///
/// On a plane the distance d is linear in the position r. On a sphere of radius R around c it is |r - c| - R, so that
/// 2 R d = (|r|^2 - d^2) - 2 c . r + |c|^2 - R^2: linear in r and in the bend |r|^2 - d^2, which on a plane has no part. A line
/// through distances to a curved surface would lie above them at its own surface, and enclose too little.
template <int D>
struct Moments {
  static constexpr int number = 0, distance = 1, square = 2, largest = 3, bend = 4, bend_distance = 5, bend_square = 6;
  static constexpr int place(int a) { return 7 + a; }            ///< of positions
  static constexpr int distance_at(int a) { return 7 + D + a; }  ///< of distances times positions
  static constexpr int bend_at(int a) { return 7 + 2 * D + a; }  ///< of bends times positions
  static constexpr int second(int a, int b) {                    ///< of products of positions
    const int low = a < b ? a : b, high = a < b ? b : a;
    return 7 + 3 * D + low * D - low * (low - 1) / 2 + high - low;
  }
  static constexpr int count = 7 + 3 * D + D * (D + 1) / 2;

  std::array<double, count> of{};

  Moments() { of[largest] = -std::numeric_limits<double>::infinity(); }

  MENISCUS_INLINE void add(const std::array<double, D>& r, double d, double weight) {
    of[number] += weight;
    of[distance] += weight * d;
    of[square] += weight * d * d;
    of[largest] = d > of[largest] ? d : of[largest];
    double y = -d * d;
    for (int a = 0; a < D; ++a) y += r[a] * r[a];
    of[bend] += weight * y;
    of[bend_distance] += weight * d * y;
    of[bend_square] += weight * y * y;
    for (int a = 0; a < D; ++a) {
      const double wr = weight * r[a];
      of[bend_at(a)] += y * wr;
      of[place(a)] += wr;
      of[distance_at(a)] += d * wr;
      for (int b = a; b < D; ++b) of[second(a, b)] += wr * r[b];
    }
  }

  DistanceFit fit() const {
    using V = Vec<double, D>;
    using Matrix = Eigen::Matrix<double, D, D>;
    const double weights = of[number];
    if (!(weights > 0.0)) return {};
    const double sum = of[distance] / weights;
    V mean, moment;
    for (int a = 0; a < D; ++a) {
      mean[a] = of[place(a)] / weights;
      moment[a] = of[distance_at(a)] / weights - sum * mean[a];
    }
    Matrix spread;
    for (int a = 0; a < D; ++a)
      for (int b = 0; b < D; ++b) spread(a, b) = of[second(a, b)] / weights - mean[a] * mean[b];
    const bool deep = of[largest] < -distance_fit::deep_distance;
    DistanceFit fit;
    if (deep) fit = {1.0, sum};
    if (!spreads_enough(spread)) return fit;
    const Matrix inverse = spread.inverse();
    V slope = inverse * moment;
    double variance = of[square] / weights - sum * sum - slope.dot(moment);
    double value = sum - slope.dot(mean), length = slope.norm();
    if (!deep) bend_fit(inverse, mean, moment, sum, slope, variance, value, length);
    const double trust = distance_fit::of_particles.trust(std::sqrt(std::max(variance, 0.0))) *
                         distance_fit::of_slope.trust(std::abs(length - 1.0));
    if (deep)
      fit.value += trust * (value - sum);
    else
      fit = {trust, value};
    return fit;
  }

 private:
  /// Adds the bend to a linear fit, as far as the bends of the particles are no linear function of their positions.
  void bend_fit(const Eigen::Matrix<double, D, D>& inverse, const Vec<double, D>& mean, const Vec<double, D>& moment, double sum,
                Vec<double, D>& slope, double& variance, double& value, double& length) const {
    const double weights = of[number], middle = of[bend] / weights;
    Vec<double, D> along;
    for (int a = 0; a < D; ++a) along[a] = of[bend_at(a)] / weights - middle * mean[a];
    const Vec<double, D> part = inverse * along;
    const double spread = of[bend_square] / weights - middle * middle - part.dot(along);
    const double agreement = of[bend_distance] / weights - middle * sum - part.dot(moment);
    if (!(spread > distance_fit::least_bend)) return;
    const double curvature = std::clamp(agreement / spread, -distance_fit::most_bend, distance_fit::most_bend);
    slope -= curvature * part;
    variance -= curvature * (2 * agreement - curvature * spread);
    // d + curvature d^2 at the centre; on the inner side of the centre of the sphere there is no surface.
    const double sought = sum - curvature * middle - slope.dot(mean);
    const double root = std::sqrt(std::max(1 + 4 * curvature * sought, distance_fit::least_root));
    value = 2 * sought / (1 + root);
    length = slope.norm() / root;
  }

  /// Whether the least eigenvalue is above the least spread: the leading minors of the rest are positive.
  static bool spreads_enough(Eigen::Matrix<double, D, D> spread) {
    spread.diagonal().array() -= distance_fit::least_spread;
    if (!(spread(0, 0) > 0.0) || !(spread(0, 0) * spread(1, 1) - spread(0, 1) * spread(1, 0) > 0.0)) return false;
    return D == 2 || spread.determinant() > 0.0;
  }
};

}  // namespace meniscus::fluids
