/// Guard that sets the floating-point mode for which error bounds are proved.
#pragma once

#include "meniscus/core/namespaces.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace meniscus::core {

/// While alive, the calling thread rounds to nearest and keeps subnormal numbers, whatever other libraries have set: some switch
/// subnormals off for the whole process just by being loaded. Proofs by error bounds and exact arithmetic rely on this.
class StandardArithmetic {
 public:
#if defined(__SSE2__)
  StandardArithmetic() : saved_(_mm_getcsr()) {
    if (const unsigned standard = saved_ & ~(flush_to_zero | subnormals_are_zero | rounding); standard != saved_)
      _mm_setcsr(standard);
  }
  ~StandardArithmetic() {
    constexpr unsigned control = flush_to_zero | subnormals_are_zero | rounding;
    if ((saved_ & control) != 0) _mm_setcsr((_mm_getcsr() & ~control) | (saved_ & control));
  }
#else
  StandardArithmetic() : saved_(std::fegetround()) {
    if (saved_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  }
  ~StandardArithmetic() {
    if (saved_ != FE_TONEAREST) std::fesetround(saved_);
  }
#endif
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned subnormals_are_zero = 1u << 6;
  static constexpr unsigned flush_to_zero = 1u << 15;
  static constexpr unsigned rounding = 3u << 13;
  unsigned saved_;
#else
  int saved_;
#endif
};

}  // namespace meniscus::core
