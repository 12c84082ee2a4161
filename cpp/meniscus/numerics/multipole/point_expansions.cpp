#include "meniscus/numerics/multipole/point_expansions.hpp"

#include <algorithm>

namespace meniscus::numerics {
namespace {

/// Eight points from `first` on relative to a centre, in sides; the last one stands in for those behind the end.
MENISCUS_INLINE OctetVec3 load_points(const PointRange& points, Index first, const Vec<double, 3>& centre, double inverse_side) {
  std::array<std::array<double, octet_size>, 3> p;
  for (int lane = 0; lane < octet_size; ++lane) {
    const Index i = std::min(first + lane, points.end - 1);
    p[0][lane] = (points.x[i] - centre[0]) * inverse_side;
    p[1][lane] = (points.y[i] - centre[1]) * inverse_side;
    p[2][lane] = (points.z[i] - centre[2]) * inverse_side;
  }
  return {load_octet(p[0].data()), load_octet(p[1].data()), load_octet(p[2].data())};
}

/// The point and factor for which regular harmonics are the wanted ones.
MENISCUS_INLINE Octet as_regular(Harmonics kind, OctetVec3& p) {
  if (kind == Harmonics::regular) return eight(1.0);
  const Octet inverse_square = eight(1.0) / dot(p, p);
  p = inverse_square * p;
  return sqrt(inverse_square);
}

template <int Channels>
void add_terms_of(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
                  std::span<const double* const> strengths, std::span<double* const> channels) {
  simd_dispatch([&] {
    std::array<Octet, Channels * terms(largest_order + 1)> sum;
    std::fill_n(sum.begin(), Channels * terms(order), eight(0.0));
    const HarmonicFactors& factors = HarmonicFactors::get();
    for (Index i = points.begin; i < points.end; i += octet_size) {
      OctetVec3 p = load_points(points, i, centre, 1.0 / side);
      std::array<Octet, Channels> strength;
      for (int c = 0; c < Channels; ++c) {
        std::array<double, octet_size> s;
        for (int lane = 0; lane < octet_size; ++lane) s[lane] = i + lane < points.end ? strengths[c][i + lane] : 0.0;
        strength[c] = load_octet(s.data());
      }
      const Octet base = as_regular(kind, p);
      for_each_harmonic(order, factors, p, base, [&](int term, const Octet& value) {
        for (int c = 0; c < Channels; ++c) sum[term * Channels + c] += strength[c] * value;
      });
    }
    for (int term = 0; term < terms(order); ++term)
      for (int c = 0; c < Channels; ++c) channels[c][term] += sum_of(sum[term * Channels + c]);
  });
}

template <int Channels>
void add_values_of(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
                   std::span<const double* const> channels, std::span<double* const> values) {
  simd_dispatch([&] {
    const HarmonicFactors& factors = HarmonicFactors::get();
    std::array<const double*, Channels> from;
    std::copy_n(channels.begin(), Channels, from.begin());
    for (Index i = points.begin; i < points.end; i += octet_size) {
      OctetVec3 p = load_points(points, i, centre, 1.0 / side);
      const Octet base = as_regular(kind, p);
      std::array<Octet, Channels> sum;
      sum.fill(eight(0.0));
      for_each_harmonic(order, factors, p, base, [&](int term, const Octet& value) {
        for (int c = 0; c < Channels; ++c) sum[c] += eight(from[c][term]) * value;
      });
      for (int c = 0; c < Channels; ++c) add_lanes(sum[c], points.end - i, values[c] + i);
    }
  });
}

}  // namespace

void add_terms(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
               std::span<const double* const> strengths, std::span<double* const> channels) {
  if (points.begin == points.end) return;
  switch (channels.size()) {
    case 1:
      return add_terms_of<1>(kind, order, points, centre, side, strengths, channels);
    case 3:
      return add_terms_of<3>(kind, order, points, centre, side, strengths, channels);
    case 4:
      return add_terms_of<4>(kind, order, points, centre, side, strengths, channels);
    default:
      for (std::size_t c = 0; c < channels.size(); ++c)
        add_terms_of<1>(kind, order, points, centre, side, strengths.subspan(c, 1), channels.subspan(c, 1));
  }
}

void add_values(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
                std::span<const double* const> channels, std::span<double* const> values) {
  if (points.begin == points.end) return;
  if (channels.size() == 3)
    add_values_of<3>(kind, order, points, centre, side, channels, values);
  else
    add_values_of<4>(kind, order, points, centre, side, channels, values);
}

}  // namespace meniscus::numerics
