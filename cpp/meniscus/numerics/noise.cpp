#include "meniscus/numerics/noise.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace meniscus::numerics {
namespace {

constexpr double two_pi = 2.0 * std::numbers::pi;

/// The derivative at the lattice points vanishes to second order.
double blend(double t) { return t * t * t * (10.0 + t * (-15.0 + t * 6.0)); }
double blend_slope(double t) { return 30.0 * t * t * (1.0 - t) * (1.0 - t); }

}  // namespace

template <int D>
GradientNoise<D>::GradientNoise(std::uint64_t seed, double rate) : rate_(rate) {
  std::iota(permutation_.begin(), permutation_.end(), std::uint8_t{0});
  const CounterRandom random(seed, 0, 0);
  std::uint32_t draw = 0;
  for (int i = period - 1; i > 0; --i) {
    const auto j = static_cast<std::size_t>(random.uniform2(draw++)[0] * (i + 1));
    std::swap(permutation_[i], permutation_[j]);
  }
  for (int i = 0; i < period; ++i) {
    // A random orthonormal pair (a, b) spans the plane in which the gradient a cos + b sin turns.
    const double angle = two_pi * random.uniform2(draw++)[0];
    Vec<double, D> a;
    Vec<double, D> b;
    if constexpr (D == 2) {
      a << std::cos(angle), std::sin(angle);
      b << -a[1], a[0];
    } else {
      const auto [z01, turn] = random.uniform2(draw++);
      const double z = 2.0 * z01 - 1.0;
      const double s = std::sqrt(1.0 - z * z);
      a << s * std::cos(angle), s * std::sin(angle), z;
      const Vec<double, D> e1(z * std::cos(angle), z * std::sin(angle), -s);
      const Vec<double, D> e2(-std::sin(angle), std::cos(angle), 0.0);
      b = std::cos(two_pi * turn) * e1 + std::sin(two_pi * turn) * e2;
    }
    cosine_[i] = a;
    sine_[i] = b;
  }
}

template <int D>
std::size_t GradientNoise<D>::corner(const Coord<D>& lattice) const {
  std::size_t h = 0;
  for (int d = 0; d < D; ++d) h = permutation_[(h + static_cast<std::size_t>(lattice[d] & (period - 1))) % period];
  return h;
}

template <int D>
typename GradientNoise<D>::Sample GradientNoise<D>::operator()(const Vec<double, D>& x, double t) const {
  const double c = std::cos(two_pi * rate_ * t);
  const double s = std::sin(two_pi * rate_ * t);
  Coord<D> base;
  Vec<double, D> f, w, dw;
  for (int d = 0; d < D; ++d) {
    const double cell = std::floor(x[d]);
    base[d] = static_cast<Index>(cell);
    f[d] = x[d] - cell;
    w[d] = blend(f[d]);
    dw[d] = blend_slope(f[d]);
  }
  // |g . r| of unit gradients, blended, stays below sqrt(D)/2 at the cell centre; the factor maps that to 1.
  const double scale = 2.0 / std::sqrt(static_cast<double>(D));
  Sample out{0.0, Vec<double, D>::Zero()};
  for (int q = 0; q < (1 << D); ++q) {
    Coord<D> lattice;
    Vec<double, D> r;
    double weight = 1.0;
    for (int d = 0; d < D; ++d) {
      const int up = (q >> d) & 1;
      lattice[d] = base[d] + up;
      r[d] = f[d] - up;
      weight *= up ? w[d] : 1.0 - w[d];
    }
    const std::size_t h = corner(lattice);
    const Vec<double, D> g = c * cosine_[h] + s * sine_[h];
    const double ramp = g.dot(r);
    out.value += scale * weight * ramp;
    for (int d = 0; d < D; ++d) {
      double slope = ((q >> d) & 1) ? dw[d] : -dw[d];
      for (int e = 0; e < D; ++e)
        if (e != d) slope *= ((q >> e) & 1) ? w[e] : 1.0 - w[e];
      out.gradient[d] += scale * (weight * g[d] + slope * ramp);
    }
  }
  return out;
}

template <int D>
FractalNoise<D>::FractalNoise(const FractalNoiseOptions& options) : options_(options) {
  require(options.wavelength > 0 && std::isfinite(options.wavelength), "the wavelength of a noise must be positive, got ",
          options.wavelength);
  require(options.octaves >= 1 && options.octaves <= 32, "a noise has 1 to 32 octaves, got ", options.octaves);
  require(options.lacunarity > 0 && std::isfinite(options.lacunarity), "lacunarity must be positive, got ", options.lacunarity);
  require(std::isfinite(options.gain) && std::isfinite(options.rate), "gain and rate of a noise must be finite");
  double rate = options.rate;
  for (int o = 0; o < options.octaves; ++o, rate *= options.lacunarity)
    octaves_.emplace_back(options.seed + static_cast<std::uint64_t>(o), rate);
}

template <int D>
typename GradientNoise<D>::Sample FractalNoise<D>::operator()(const Vec<double, D>& x, double t) const {
  typename GradientNoise<D>::Sample sum{0.0, Vec<double, D>::Zero()};
  double frequency = 1.0 / options_.wavelength;
  double amplitude = 1.0;
  for (const GradientNoise<D>& octave : octaves_) {
    const auto s = octave(frequency * x, t);
    sum.value += amplitude * s.value;
    sum.gradient += amplitude * frequency * s.gradient;
    frequency *= options_.lacunarity;
    amplitude *= options_.gain;
  }
  return sum;
}

template <int D>
void sample_noise(const FractalNoiseOptions& options, const double* points, Index n, double time, double* values,
                  double* gradients) {
  const FractalNoise<D> noise(options);
  parallel_for(0, n, 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto sample = noise(Eigen::Map<const Vec<double, D>>(points + i * D), time);
      values[i] = sample.value;
      Eigen::Map<Vec<double, D>>(gradients + i * D) = sample.gradient;
    }
  });
}

template class GradientNoise<2>;
template class GradientNoise<3>;
template class FractalNoise<2>;
template class FractalNoise<3>;
template void sample_noise<2>(const FractalNoiseOptions&, const double*, Index, double, double*, double*);
template void sample_noise<3>(const FractalNoiseOptions&, const double*, Index, double, double*, double*);

}  // namespace meniscus::numerics
