/// Dispatch of vectorised kernels: one portable binary, several vector widths. A row kernel is written once, as a lambda of plain
/// loops, and `simd_dispatch` runs the copy that was compiled for the widest instruction set of this machine.
///
/// No copy contracts a multiplication and an addition, and the kernels hold no reductions over floating-point sums, so every
/// width gives the same bits.
#pragma once

#include "meniscus/core/namespaces.hpp"

#include <string_view>

namespace meniscus::core {

enum class SimdLevel : int { baseline = 0, avx2 = 1, avx512 = 2 };

/// The widest level of this machine and build.
SimdLevel simd_supported();

/// The level in use: the environment variable MENISCUS_SIMD (baseline, avx2, avx512) at start-up, else the default of this
/// machine.
SimdLevel simd_level();

/// Changes the level in use. Throws InvalidArgument when the machine does not support it.
void set_simd_level(SimdLevel level);

std::string_view simd_name(SimdLevel level);

/// Vector register width in bits.
int simd_width(SimdLevel level);

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(MENISCUS_NATIVE)
#define MENISCUS_SIMD_CLONES 1
#endif

#define MENISCUS_INLINE inline __attribute__((always_inline))
#define MENISCUS_NOINLINE __attribute__((noinline))

namespace detail {
#if defined(MENISCUS_SIMD_CLONES)
template <class F>
__attribute__((target("avx2"), flatten, noinline)) void run_avx2(F& f) {
  f();
}
template <class F>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"), flatten, noinline)) void run_avx512(F& f) {
  f();
}
#endif
template <class F>
__attribute__((flatten, noinline)) void run_baseline(F& f) {
  f();
}
}  // namespace detail

template <class F>
void simd_dispatch(F&& f) {
#if defined(MENISCUS_SIMD_CLONES)
  switch (simd_level()) {
    case SimdLevel::avx512:
      return detail::run_avx512(f);
    case SimdLevel::avx2:
      return detail::run_avx2(f);
    case SimdLevel::baseline:
      break;
  }
#endif
  detail::run_baseline(f);
}

}  // namespace meniscus::core
