#include "meniscus/mesh/clipping/tet_plane.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <limits>

namespace meniscus::mesh {
namespace {

constexpr Index plane_chunk = 4096;

using CornerHeights = std::array<double, 4>;

CornerHeights sorted(const CornerHeights& v) {
  const double a = std::min(v[0], v[1]), b = std::max(v[0], v[1]);
  const double c = std::min(v[2], v[3]), d = std::max(v[2], v[3]);
  const double middle = std::max(a, c), other = std::min(b, d);
  return {std::min(a, c), std::min(middle, other), std::max(middle, other), std::max(b, d)};
}

/// Differences of values up to this size are finite.
constexpr double largest_value = std::numeric_limits<double>::max() / 2;

/// The part below a level between the two middle values: a prism between edges 0 and 1, cut into three tetrahedra. The arguments
/// say which part of the edges 0-2, 0-3, 1-2 and 1-3 lies below, and above.
struct Prism {
  double below02, below03, below12, below13;
  double above02, above03;

  double volume() const { return below02 * below03 + (above02 * below12 + below02 * above03) * below13; }
};

/// The fraction below level 0 of ascending values.
double fraction_of_sorted(const CornerHeights& f) {
  if (f[3] <= 0) return 1;
  if (f[0] >= 0) return 0;
  if (f[1] >= 0) return f[0] / (f[0] - f[1]) * (f[0] / (f[0] - f[2])) * (f[0] / (f[0] - f[3]));
  if (f[2] > 0) {
    const double d02 = f[2] - f[0], d03 = f[3] - f[0];
    return Prism{-f[0] / d02, -f[0] / d03, f[1] / (f[1] - f[2]), f[1] / (f[1] - f[3]), f[2] / d02, f[3] / d03}.volume();
  }
  // What is above is the corner at 3; 1 - t0 t1 t2 as a sum of positive terms.
  const double d0 = f[3] - f[0], d1 = f[3] - f[1], d2 = f[3] - f[2];
  return -f[0] / d0 + f[3] / d0 * (-f[1] / d1 + f[3] / d1 * (-f[2] / d2));
}

/// The place s in [0, 1] between the two middle heights at which the fraction below is reached, by Newton's method within a
/// bracket.
double place_between(const CornerHeights& h, double fraction) {
  const double range = h[3] - h[0];
  const double width = h[2] - h[1];
  const double rise02 = width / (h[2] - h[0]), start02 = (h[1] - h[0]) / (h[2] - h[0]);
  const double rise03 = width / range, start03 = (h[1] - h[0]) / range;
  const double rise13 = width / (h[3] - h[1]);
  double low = 0, high = 1, s = 0.5;
  for (int i = 0; i < 80; ++i) {
    const double a = start02 + s * rise02, b = start03 + s * rise03, d = s * rise13;
    const double above02 = (1 - s) * rise02;
    const double above03 = (h[3] - h[2]) / range + (1 - s) * rise03;
    const double error = Prism{a, b, s, d, above02, above03}.volume() - fraction;
    if (std::abs(error) <= std::numeric_limits<double>::epsilon() * fraction) return s;
    (error > 0 ? high : low) = s;
    const double slope =
        rise02 * b + a * rise03 + (rise02 * (above03 - s) + above02 - a * rise03) * d + (above02 * s + a * above03) * rise13;
    double next = s - error / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - s) <= 2e-16) return next;
    s = next;
  }
  return s;
}

}  // namespace

double fraction_below(const CornerHeights& phi) {
  CornerHeights f = sorted(phi);
  if (f[3] > largest_value || f[0] < -largest_value)
    for (double& value : f) value *= 0.25;
  return std::min(fraction_of_sorted(f), 1.0);
}

double offset_for_fraction(const CornerHeights& heights, double fraction) {
  CornerHeights h = sorted(heights);
  if (fraction <= 0) return h[0];
  if (fraction >= 1) return h[3];
  const double scale = h[3] > largest_value || h[0] < -largest_value ? 0.25 : 1;
  for (double& height : h) height *= scale;
  const double range = h[3] - h[0];
  if (!(range > 0)) return heights[0];
  const double up01 = (h[1] - h[0]) / range, up02 = (h[2] - h[0]) / range;
  const double down13 = (h[3] - h[1]) / range, down23 = (h[3] - h[2]) / range;
  // c <= h1: the fraction is s^3 / (up01 up02) at c = h0 + s range; c >= h2: the same from above.
  if (up01 > 0 && fraction * up02 <= up01 * up01) return (h[0] + range * std::cbrt(fraction * up01 * up02)) / scale;
  if (down23 > 0 && (1 - fraction) * down13 <= down23 * down23)
    return (h[3] - range * std::cbrt((1 - fraction) * down13 * down23)) / scale;
  return (h[1] + place_between(h, fraction) * (h[2] - h[1])) / scale;
}

double volume_below(const std::array<Point, 4>& corners, const Point& normal, double offset) {
  const double volume = std::abs(signed_volume(corners[0], corners[1], corners[2], corners[3]));
  CornerHeights phi;
  for (std::size_t k = 0; k < 4; ++k) phi[k] = normal.dot(corners[k]) - offset;
  return volume * fraction_below(phi);
}

void fractions_below(std::span<const CornerHeights> phi, std::span<double> out) {
  parallel_for(0, static_cast<Index>(phi.size()), plane_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) out[i] = fraction_below(phi[i]);
  });
}

void plane_offsets(std::span<const CornerHeights> heights, std::span<const double> fractions, std::span<double> out) {
  parallel_for(0, static_cast<Index>(heights.size()), plane_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) out[i] = offset_for_fraction(heights[i], fractions[i]);
  });
}

}  // namespace meniscus::mesh
