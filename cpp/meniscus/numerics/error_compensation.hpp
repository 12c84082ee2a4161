/// Back and forth error compensation (BFECC) and MacCormack: two methods that raise a first-order step A, whose time reverse A^R
/// is known, to second order (Selle 2008, section 2.4). The grid schemes use these formulas, and so does the ordinary
/// differential equation on which the schemes are analysed (section 2.5).
#pragma once

#include "meniscus/core/simd.hpp"

#include <complex>

namespace meniscus::numerics {

enum class CompensationScheme { forward_euler, bfecc, maccormack };

/// Value that BFECC advances instead of phi: the start value minus half of the error after one step forward and back.
template <class T>
MENISCUS_INLINE T bfecc_start(T phi, T forth_and_back) {
  return phi - (forth_and_back - phi) * T(0.5);
}

/// Result of MacCormack: the advanced value minus half of that error.
template <class T>
MENISCUS_INLINE T maccormack_correct(T advanced, T phi, T forth_and_back) {
  return advanced - (forth_and_back - phi) * T(0.5);
}

/// One step with the forward operator and its reverse, for any type with the arithmetic of a field.
template <class T, class Forward, class Backward>
T compensated_step(CompensationScheme scheme, T phi, Forward&& forward, Backward&& backward) {
  const T advanced = forward(phi);
  if (scheme == CompensationScheme::forward_euler) return advanced;
  const T forth_and_back = backward(advanced);
  if (scheme == CompensationScheme::bfecc) return forward(bfecc_start(phi, forth_and_back));
  return maccormack_correct(advanced, phi, forth_and_back);
}

/// Factor by which the schemes, built on forward Euler, multiply y in one step of y' = lambda y, z = dt lambda.
inline std::complex<double> amplification(CompensationScheme scheme, std::complex<double> z) {
  using C = std::complex<double>;
  return compensated_step(scheme, C(1.0), [z](C y) { return y + z * y; }, [z](C y) { return y - z * y; });
}

}  // namespace meniscus::numerics
