/// Packs of 32 bytes for the kernels of lattices, and how populations of each storage become packs.
///
/// The compiler splits a pack into as many registers as the instruction set in use needs; all widths give the same bits.
#pragma once

#include "meniscus/core/simd.hpp"

#include <cstdint>
#include <cstring>

#if defined(__GNUC__)
// Packs never cross the boundary of a function that is called: everything here is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

/// For lambdas of kernels: a call would leave the instruction set.
#define MENISCUS_FORCED __attribute__((always_inline))

namespace meniscus::fluids::lattice {

/// Lanes of a scalar.
template <class C>
struct Lanes;
template <>
struct Lanes<double> {
  static constexpr int count = 4;
  using Pack = double __attribute__((vector_size(32)));
  using Mask = long long __attribute__((vector_size(32)));
};
template <>
struct Lanes<float> {
  static constexpr int count = 8;
  using Pack = float __attribute__((vector_size(32)));
  using Mask = int __attribute__((vector_size(32)));
};

template <class C>
using PackOf = typename Lanes<C>::Pack;

/// Populations in memory: the scalar that they are, and the one in which they are computed.
template <class T>
struct Storage {
  using Compute = T;
  static MENISCUS_INLINE PackOf<T> load(const T* p, T) {
    PackOf<T> r;
    std::memcpy(&r, p, sizeof r);
    return r;
  }
  static MENISCUS_INLINE void store(T* p, const PackOf<T>& x, T) { std::memcpy(p, &x, sizeof x); }
  static MENISCUS_INLINE T value(T x, T) { return x; }
  static MENISCUS_INLINE T stored(T x, T) { return x; }
};

/// 16 bits: f - w as an integer times the weight times a unit, rounded to the nearest. The caller hands in unit * weight.
template <>
struct Storage<std::int16_t> {
  using Compute = float;
  using Shorts = std::int16_t __attribute__((vector_size(16)));
  using Ints = std::int32_t __attribute__((vector_size(32)));
  static constexpr float largest = 32767.0F;

  static MENISCUS_INLINE PackOf<float> load(const std::int16_t* p, float unit) {
    Shorts s;
    std::memcpy(&s, p, sizeof s);
    return __builtin_convertvector(__builtin_convertvector(s, Ints), PackOf<float>) * unit;
  }
  static MENISCUS_INLINE void store(std::int16_t* p, const PackOf<float>& x, float unit) {
    PackOf<float> y = x * (1.0F / unit);
    const PackOf<float> zero{};
    y = y > largest ? zero + largest : y;
    y = y < -largest ? zero - largest : y;
    // Conversion cuts; half a unit towards the sign makes it round.
    y = y < 0.0F ? y - 0.5F : y + 0.5F;
    const Shorts s = __builtin_convertvector(__builtin_convertvector(y, Ints), Shorts);
    std::memcpy(p, &s, sizeof s);
  }
  static MENISCUS_INLINE float value(std::int16_t x, float unit) { return static_cast<float>(x) * unit; }
  static MENISCUS_INLINE std::int16_t stored(float x, float unit) {
    float y = x * (1.0F / unit);
    y = y > largest ? largest : (y < -largest ? -largest : y);
    return static_cast<std::int16_t>(y < 0.0F ? y - 0.5F : y + 0.5F);
  }
};

template <class F, int... I>
MENISCUS_INLINE void unroll(F&& f, std::integer_sequence<int, I...>) {
  (f(std::integral_constant<int, I>{}), ...);
}
/// Calls f(integral_constant) for 0 ... N - 1.
template <int N, class F>
MENISCUS_INLINE void unroll(F&& f) {
  unroll(f, std::make_integer_sequence<int, N>{});
}

}  // namespace meniscus::fluids::lattice
