/// Smooth random fields that vary in space and time, with exact derivatives.
#pragma once

#include "meniscus/core/types.hpp"

#include <vector>

namespace meniscus::numerics {

/// Gradient noise on the unit lattice with a quintic blend (C2 in space) and gradients that rotate in time (smooth in time): flow
/// noise after Perlin and Neyret, 2001. Values lie in [-1, 1], the mean is 0, and the spectrum is that of one octave around
/// wavelength 1.
template <int D>
class GradientNoise {
 public:
  struct Sample {
    double value;
    Vec<double, D> gradient;
  };

  /// `rate`: turns of the lattice gradients per unit of time. The lattice repeats after 256 cells on each axis.
  GradientNoise(std::uint64_t seed, double rate);

  /// Value and spatial gradient at position x (lattice units) and time t.
  Sample operator()(const Vec<double, D>& x, double t) const;

 private:
  static constexpr int period = 256;
  std::size_t corner(const Coord<D>& lattice) const;
  std::array<std::uint8_t, period> permutation_;
  std::array<Vec<double, D>, period> cosine_;
  std::array<Vec<double, D>, period> sine_;
  double rate_;
};

/// A sum of octaves: octave o has wavelength scale / lacunarity^o, amplitude gain^o and turns at rate * lacunarity^o.
struct FractalNoiseOptions {
  std::uint64_t seed = 0;
  double wavelength = 1.0;  ///< of the first octave, metres
  double rate = 0.0;        ///< turns per second of the first octave
  int octaves = 1;
  double gain = 0.5;
  double lacunarity = 2.0;
};

template <int D>
class FractalNoise {
 public:
  explicit FractalNoise(const FractalNoiseOptions& options);
  typename GradientNoise<D>::Sample operator()(const Vec<double, D>& x, double t) const;

 private:
  FractalNoiseOptions options_;
  std::vector<GradientNoise<D>> octaves_;
};

/// Values (n) and gradients (n rows of D) of a noise at n points (rows of D, m) and a time (s). Parallel.
template <int D>
void sample_noise(const FractalNoiseOptions& options, const double* points, Index n, double time, double* values,
                  double* gradients);

}  // namespace meniscus::numerics
