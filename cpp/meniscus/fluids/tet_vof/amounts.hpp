/// Volumes of water as whole multiples of one power of two. Sums and differences of multiples are exact as long as they stay
/// below 2^53 of them, so that volumes are conserved to the last bit, in whatever order threads add them.
#pragma once

#include "meniscus/core/types.hpp"

#include <atomic>
#include <cmath>

namespace meniscus::fluids {

class Quantum {
 public:
  /// 2^-45 of the power of two at or below the largest volume of a tetrahedron, m^3: 256 times this volume fit into one
  /// tetrahedron with exact sums.
  explicit Quantum(double largest) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    size_ = std::ldexp(1.0, exponent - 1 - 45);
    inverse_ = std::ldexp(1.0, -(exponent - 1 - 45));
  }

  double size() const { return size_; }
  /// The largest multiple that does not exceed v, which must not be negative.
  double floor(double v) const { return static_cast<double>(static_cast<std::int64_t>(v * inverse_)) * size_; }
  /// The same for less than 2^51 quanta, without integers: compilers then find several at a time.
  double floor_of_small(double v) const {
    constexpr double to_whole = 0x1p52;
    const double quanta = v * inverse_, whole = (quanta + to_whole) - to_whole;
    return (whole > quanta ? whole - 1 : whole) * size_;
  }
  double nearest(double v) const { return std::nearbyint(v * inverse_) * size_; }

  /// The largest multiple that does not exceed whole * part / parts, also with rounded arithmetic; whole if part is all.
  double share(double whole, double part, double parts) const {
    if (part == parts) return whole;
    return floor(whole * (part / parts) * (1 - 0x1p-50));
  }

 private:
  double size_, inverse_;
};

/// Adds to a value that other threads add to as well. Exact for multiples of a quantum, and then independent of their order.
inline void add_exactly(double& to, double v) { std::atomic_ref<double>(to).fetch_add(v, std::memory_order_relaxed); }

}  // namespace meniscus::fluids
