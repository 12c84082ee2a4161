#include "meniscus/numerics/multipole/near_field.hpp"

#include <bit>
#include <cmath>

namespace meniscus::numerics {
namespace {

/// 1 / sqrt(x) to rounding, zero for zero: a guess from the exponent, and a step of fourth and one of third order. Divisions and
/// roots of the processor take longer.
MENISCUS_INLINE Half inverse_root(const Half& x) {
  constexpr unsigned long long guess = 0x5fe6eb50c7b537a9ULL;  // error of at most 3.5 % (Lomont 2003)
  Half y = (Half)(guess - ((HalfBits)x >> 1));
  const Half h = 1.0 - x * (y * y);
  y += y * (h * (0.5 + h * (0.375 + h * 0.3125)));
  const Half g = 1.0 - x * (y * y);
  y += y * (g * (0.5 + g * 0.375));
  return x > 0.0 ? y : Half{0.0, 0.0, 0.0, 0.0};
}
MENISCUS_INLINE Octet inverse_root(const Octet& x) { return {inverse_root(x.low), inverse_root(x.high)}; }

/// exp(-t) - 1 for t >= 0, with a small relative error for small t, too.
MENISCUS_INLINE Half exp_minus_one(const Half& argument) {
  constexpr double most = 64.0;
  const Half t = argument < most ? argument : Half{most, most, most, most};
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: the sum has the rounded number in its last bits
  const Half shifted = t * 1.4426950408889634 + magic;
  const Half k = shifted - magic;
  const Half r = (k * 6.93147180369123816490e-01 - t) + k * 1.90821492927058770002e-10;  // log 2 in two parts
  constexpr double last = 1.0 / 6227020800.0;
  Half p{last, last, last, last};
  for (const double c : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0})
    p = p * r + 1.0 / c;
  p *= r;
  const Half scale = (Half)((1023ULL << 52) - ((HalfBits)shifted << 52));
  return scale * p + (scale - 1.0);
}
MENISCUS_INLINE Octet exp_minus_one(const Octet& t) { return {exp_minus_one(t.low), exp_minus_one(t.high)}; }

MENISCUS_INLINE bool any_below(const Octet& x, double limit) {
  const auto low = x.low < limit, high = x.high < limit;
  const auto either = low | high;
  return (either[0] | either[1] | either[2] | either[3]) != 0;
}

/// 1 - exp(-s^3), or its combination of second order.
template <BiotSavartKernel Kernel>
MENISCUS_INLINE Octet core_factor(const Octet& r3, double inverse_core_cubed) {
  if constexpr (Kernel == BiotSavartKernel::mollified) {
    return -exp_minus_one(inverse_core_cubed * r3);
  } else {
    const Octet wide = exp_minus_one((0.125 * inverse_core_cubed) * r3);
    Octet narrow = wide;
    for (int i = 0; i < 3; ++i) narrow = narrow * (2.0 + narrow);  // e^8 - 1 of e - 1
    return wide - 2.0 * narrow;
  }
}

struct Charge {
  static constexpr int strengths = 1, values = 4;
  MENISCUS_INLINE static void add(const OctetVec3& d, const Octet& r2, const std::array<double, 1>& q, Octet* sum) {
    const Octet inverse = inverse_root(r2), potential = eight(q[0]) * inverse;
    const Octet slope = potential * (inverse * inverse);
    sum[0] += potential;
    sum[1] -= slope * d.x;
    sum[2] -= slope * d.y;
    sum[3] -= slope * d.z;
  }
};

struct ThreeCharges {
  static constexpr int strengths = 3, values = 12;
  MENISCUS_INLINE static void add(const OctetVec3& d, const Octet& r2, const std::array<double, 3>& q, Octet* sum) {
    const Octet inverse = inverse_root(r2), cubed = inverse * (inverse * inverse);
    const OctetVec3 slope = cubed * d;
    for (int k = 0; k < 3; ++k) {
      const Octet strength = eight(q[k]);
      sum[4 * k] += strength * inverse;
      sum[4 * k + 1] -= strength * slope.x;
      sum[4 * k + 2] -= strength * slope.y;
      sum[4 * k + 3] -= strength * slope.z;
    }
  }
};

struct Dipole {
  static constexpr int strengths = 4, values = 4;
  MENISCUS_INLINE static void add(const OctetVec3& d, const Octet& r2, const std::array<double, 4>& q, Octet* sum) {
    const Octet inverse = inverse_root(r2), square = inverse * inverse, cubed = inverse * square;
    const OctetVec3 p{eight(q[1]), eight(q[2]), eight(q[3])};
    const Octet along = dot(p, d);
    sum[0] += eight(q[0]) * inverse + along * cubed;
    const Octet slope = (eight(q[0]) + 3.0 * (along * square)) * cubed;
    sum[1] += p.x * cubed - slope * d.x;
    sum[2] += p.y * cubed - slope * d.y;
    sum[3] += p.z * cubed - slope * d.z;
  }
};

template <BiotSavartKernel Kernel>
struct Vortex {
  static constexpr int strengths = 3, values = 3;
  double inverse_core_cubed, reach_squared;
  MENISCUS_INLINE void add(const OctetVec3& d, const Octet& r2, const std::array<double, 3>& w, Octet* sum) const {
    const Octet inverse = inverse_root(r2);
    Octet factor = inverse * (inverse * inverse);
    if constexpr (Kernel != BiotSavartKernel::singular)
      if (any_below(r2, reach_squared)) factor *= core_factor<Kernel>(r2 * r2 * inverse, inverse_core_cubed);
    const OctetVec3 turned = cross({eight(w[0]), eight(w[1]), eight(w[2])}, d);
    sum[0] += factor * turned.x;
    sum[1] += factor * turned.y;
    sum[2] += factor * turned.z;
  }
};

/// Eight points from `first` on; the last one stands in for those behind the end.
MENISCUS_INLINE OctetVec3 load_points(const PointRange& points, Index first) {
  std::array<std::array<double, octet_size>, 3> p;
  for (int lane = 0; lane < octet_size; ++lane) {
    const Index i = std::min(first + lane, points.end - 1);
    p[0][lane] = points.x[i], p[1][lane] = points.y[i], p[2][lane] = points.z[i];
  }
  return {load_octet(p[0].data()), load_octet(p[1].data()), load_octet(p[2].data())};
}

template <class Kernel>
void add_pairs_of(const Kernel& kernel, const PointRange& targets, const PointRange& sources,
                  std::span<const double* const> strengths, std::span<const SourceRange> ranges,
                  std::span<double* const> values) {
  simd_dispatch([&] {
    for (Index i = targets.begin; i < targets.end; i += octet_size) {
      const OctetVec3 x = load_points(targets, i);
      std::array<Octet, Kernel::values> sum;
      sum.fill(eight(0.0));
      for (const SourceRange& range : ranges)
        for (Index j = range[0]; j < range[1]; ++j) {
          std::array<double, Kernel::strengths> q;
          for (int k = 0; k < Kernel::strengths; ++k) q[k] = strengths[k][j];
          const OctetVec3 d{x.x - sources.x[j], x.y - sources.y[j], x.z - sources.z[j]};
          kernel.add(d, dot(d, d), q, sum.data());
        }
      for (int v = 0; v < Kernel::values; ++v) add_lanes(sum[v], targets.end - i, values[v] + i);
    }
  });
}

/// Beyond this many cores the factor of a kernel is one in double precision.
constexpr double cores_to_rounding = 3.4;

template <BiotSavartKernel Kernel>
Vortex<Kernel> vortex(double core) {
  const double widest = Kernel == BiotSavartKernel::second_order ? 2.0 * core : core;
  return {1.0 / (core * core * core), std::pow(cores_to_rounding * widest, 2)};
}

}  // namespace

double PairKernel::reach(double error) const {
  if (sum != PairSum::vortices || vortex == BiotSavartKernel::singular) return 0.0;
  return std::cbrt(-std::log(error)) * (vortex == BiotSavartKernel::second_order ? 2.0 * core : core);
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
    case BiotSavartKernel::singular:
      return add(Vortex<BiotSavartKernel::singular>{0.0, 0.0});
    case BiotSavartKernel::mollified:
      return add(vortex<BiotSavartKernel::mollified>(kernel.core));
    case BiotSavartKernel::second_order:
      return add(vortex<BiotSavartKernel::second_order>(kernel.core));
  }
}

}  // namespace meniscus::numerics
