#include "meniscus/numerics/multipole/near_field.hpp"

#include <bit>
#include <cmath>

namespace meniscus::numerics {
namespace {

using PackBits = unsigned long long __attribute__((vector_size(64)));

MENISCUS_INLINE PackBits bits_of(const Pack& x) {
  PackBits b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
MENISCUS_INLINE Pack from_bits(const PackBits& b) {
  Pack x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}

/// 1 / sqrt(x) to rounding, zero for zero: a guess from the exponent, and a step of fourth and one of third order. Divisions and
/// roots of the processor take longer.
MENISCUS_INLINE Pack inverse_root(const Pack& x) {
  constexpr unsigned long long guess = 0x5fe6eb50c7b537a9ULL;  // error of at most 3.5 % (Lomont 2003)
  Pack y = from_bits(guess - (bits_of(x) >> 1));
  const Pack h = 1.0 - x * (y * y);
  y += y * (h * (0.5 + h * (0.375 + h * 0.3125)));
  const Pack g = 1.0 - x * (y * y);
  y += y * (g * (0.5 + g * 0.375));
  return select(x > 0.0, y, splat(0.0));
}

/// exp(-t) - 1 for t >= 0, with a small relative error for small t, too.
MENISCUS_INLINE Pack exp_minus_one(const Pack& argument) {
  const Pack t = min(argument, splat(64.0));
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: the sum has the rounded number in its last bits
  const Pack shifted = t * 1.4426950408889634 + magic;
  const Pack k = shifted - magic;
  const Pack r = (k * 6.93147180369123816490e-01 - t) + k * 1.90821492927058770002e-10;  // log 2 in two parts
  Pack p = splat(1.0 / 6227020800.0);
  for (const double c : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0})
    p = p * r + 1.0 / c;
  p *= r;
  const Pack scale = from_bits((1023ULL << 52) - (bits_of(shifted) << 52));
  return scale * p + (scale - 1.0);
}

/// 1 - exp(-s^3), or its combination of second order, over r^3.
template <VortexKernel Kernel>
MENISCUS_INLINE Pack core_factor(const Pack& r3, double inverse_core_cubed) {
  if constexpr (Kernel == VortexKernel::mollified) {
    return -exp_minus_one(r3 * inverse_core_cubed);
  } else {
    const Pack wide = exp_minus_one(r3 * (0.125 * inverse_core_cubed));
    Pack narrow = wide;
    for (int i = 0; i < 3; ++i) narrow = narrow * (2.0 + narrow);  // e^8 - 1 of e - 1
    return wide - 2.0 * narrow;
  }
}

struct Charge {
  static constexpr int strengths = 1, values = 4;
  MENISCUS_INLINE static void add(const PackVec3& d, const Pack& r2, const std::array<double, 1>& q, Pack* sum) {
    const Pack inverse = inverse_root(r2), potential = splat(q[0]) * inverse;
    const Pack slope = potential * (inverse * inverse);
    sum[0] += potential;
    sum[1] -= slope * d.x;
    sum[2] -= slope * d.y;
    sum[3] -= slope * d.z;
  }
};

struct ThreeCharges {
  static constexpr int strengths = 3, values = 12;
  MENISCUS_INLINE static void add(const PackVec3& d, const Pack& r2, const std::array<double, 3>& q, Pack* sum) {
    const Pack inverse = inverse_root(r2), cubed = inverse * (inverse * inverse);
    const PackVec3 slope = cubed * d;
    for (int k = 0; k < 3; ++k) {
      const Pack strength = splat(q[k]);
      sum[4 * k] += strength * inverse;
      sum[4 * k + 1] -= strength * slope.x;
      sum[4 * k + 2] -= strength * slope.y;
      sum[4 * k + 3] -= strength * slope.z;
    }
  }
};

struct Dipole {
  static constexpr int strengths = 4, values = 4;
  MENISCUS_INLINE static void add(const PackVec3& d, const Pack& r2, const std::array<double, 4>& q, Pack* sum) {
    const Pack inverse = inverse_root(r2), square = inverse * inverse, cubed = inverse * square;
    const PackVec3 p{splat(q[1]), splat(q[2]), splat(q[3])};
    const Pack along = dot(p, d);
    sum[0] += splat(q[0]) * inverse + along * cubed;
    const Pack slope = (splat(q[0]) + 3.0 * along * square) * cubed;
    sum[1] += p.x * cubed - slope * d.x;
    sum[2] += p.y * cubed - slope * d.y;
    sum[3] += p.z * cubed - slope * d.z;
  }
};

template <VortexKernel Kernel>
struct Vortex {
  static constexpr int strengths = 3, values = 3;
  double inverse_core_cubed, reach_squared;
  MENISCUS_INLINE void add(const PackVec3& d, const Pack& r2, const std::array<double, 3>& w, Pack* sum) const {
    const Pack inverse = inverse_root(r2);
    Pack factor = inverse * (inverse * inverse);
    if constexpr (Kernel != VortexKernel::singular)
      if (any(r2 < reach_squared)) factor *= core_factor<Kernel>(r2 * r2 * inverse, inverse_core_cubed);
    const PackVec3 turned = cross({splat(w[0]), splat(w[1]), splat(w[2])}, d);
    sum[0] += factor * turned.x;
    sum[1] += factor * turned.y;
    sum[2] += factor * turned.z;
  }
};

template <class Kernel>
void add_pairs_of(const Kernel& kernel, const PointRange& targets, const PointRange& sources,
                  std::span<const double* const> strengths, std::span<const SourceRange> ranges, std::span<double* const> values) {
  simd_dispatch([&] {
    for (Index i = targets.begin; i < targets.end; i += pack_size) {
      PackVec3 x;
      for (int lane = 0; lane < pack_size; ++lane) {
        const Index t = std::min(i + lane, targets.end - 1);
        x.x[lane] = targets.x[t], x.y[lane] = targets.y[t], x.z[lane] = targets.z[t];
      }
      std::array<Pack, Kernel::values> sum;
      sum.fill(splat(0.0));
      for (const SourceRange& range : ranges)
        for (Index j = range[0]; j < range[1]; ++j) {
          std::array<double, Kernel::strengths> q;
          for (int k = 0; k < Kernel::strengths; ++k) q[k] = strengths[k][j];
          const PackVec3 d{x.x - sources.x[j], x.y - sources.y[j], x.z - sources.z[j]};
          kernel.add(d, dot(d, d), q, sum.data());
        }
      for (int v = 0; v < Kernel::values; ++v)
        for (int lane = 0; lane < pack_size && i + lane < targets.end; ++lane) values[v][i + lane] += sum[v][lane];
    }
  });
}

/// Beyond this many cores the factor of a kernel is one in double precision.
constexpr double cores_to_rounding = 3.4;

template <VortexKernel Kernel>
Vortex<Kernel> vortex(double core) {
  const double widest = Kernel == VortexKernel::second_order ? 2.0 * core : core;
  return {1.0 / (core * core * core), std::pow(cores_to_rounding * widest, 2)};
}

}  // namespace

double PairKernel::reach(double error) const {
  if (sum != PairSum::vortices || vortex == VortexKernel::singular) return 0.0;
  return std::cbrt(-std::log(error)) * (vortex == VortexKernel::second_order ? 2.0 * core : core);
}

void add_pairs(const PairKernel& kernel, const PointRange& targets, const PointRange& sources,
               std::span<const double* const> strengths, std::span<const SourceRange> ranges, std::span<double* const> values) {
  const auto add = [&](const auto& k) { add_pairs_of(k, targets, sources, strengths, ranges, values); };
  switch (kernel.sum) {
    case PairSum::charges:
      return add(Charge{});
    case PairSum::three_charges:
      return add(ThreeCharges{});
    case PairSum::dipoles:
      return add(Dipole{});
    case PairSum::vortices:
      break;
  }
  switch (kernel.vortex) {
    case VortexKernel::singular:
      return add(Vortex<VortexKernel::singular>{0.0, 0.0});
    case VortexKernel::mollified:
      return add(vortex<VortexKernel::mollified>(kernel.core));
    case VortexKernel::second_order:
      return add(vortex<VortexKernel::second_order>(kernel.core));
  }
}

}  // namespace meniscus::numerics
