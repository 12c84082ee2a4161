#include "meniscus/numerics/multipole/point_expansions.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::numerics {
namespace {

/// Eight points from `first` on relative to a centre, in sides; the last one stands in for those behind the end.
MENISCUS_INLINE PackVec3 load_points(const PointRange& points, Index first, const Vec<double, 3>& centre, double inverse_side) {
  PackVec3 p;
  for (int lane = 0; lane < pack_size; ++lane) {
    const Index i = std::min(first + lane, points.end - 1);
    p.x[lane] = (points.x[i] - centre[0]) * inverse_side;
    p.y[lane] = (points.y[i] - centre[1]) * inverse_side;
    p.z[lane] = (points.z[i] - centre[2]) * inverse_side;
  }
  return p;
}

/// The point and factor for which regular harmonics are the wanted ones.
MENISCUS_INLINE Pack as_regular(Harmonics kind, PackVec3& p) {
  if (kind == Harmonics::regular) return splat(1.0);
  const Pack inverse_square = splat(1.0) / dot(p, p);
  p = inverse_square * p;
  return sqrt(inverse_square);
}

template <int Channels>
void add_terms_of(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
                  std::span<const double* const> strengths, std::span<double* const> channels) {
  simd_dispatch([&] {
    std::array<Pack, Channels * terms(largest_order + 1)> sum;
    std::fill_n(sum.begin(), Channels * terms(order), splat(0.0));
    const HarmonicFactors& factors = HarmonicFactors::get();
    for (Index i = points.begin; i < points.end; i += pack_size) {
      PackVec3 p = load_points(points, i, centre, 1.0 / side);
      std::array<Pack, Channels> strength;
      for (int c = 0; c < Channels; ++c)
        for (int lane = 0; lane < pack_size; ++lane) strength[c][lane] = i + lane < points.end ? strengths[c][i + lane] : 0.0;
      const Pack base = as_regular(kind, p);
      for_each_harmonic(order, factors, p, base, [&](int term, const Pack& value) {
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
    for (Index i = points.begin; i < points.end; i += pack_size) {
      PackVec3 p = load_points(points, i, centre, 1.0 / side);
      const Pack base = as_regular(kind, p);
      std::array<Pack, Channels> sum;
      sum.fill(splat(0.0));
      for_each_harmonic(order, factors, p, base, [&](int term, const Pack& value) {
        for (int c = 0; c < Channels; ++c) sum[c] += splat(from[c][term]) * value;
      });
      for (int c = 0; c < Channels; ++c)
        for (int lane = 0; lane < pack_size && i + lane < points.end; ++lane) values[c][i + lane] += sum[c][lane];
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
