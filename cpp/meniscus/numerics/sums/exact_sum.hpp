/// Sums of floating-point numbers that do not depend on the order of the terms.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::numerics {

/// The exact sum of doubles, as a fixed-point number that covers their whole range, rounded once at the end
/// (Kulisch 1971; limbs with late carries as in Neal, "Fast exact summation using small and large
/// superaccumulators", 2015). Takes some nanoseconds per term.
class ExactSum {
 public:
  void add(double x);
  /// Adds all terms of another sum.
  void add(const ExactSum& other);

  /// The sum rounded to the nearest double, ties to even. With terms that are not finite, their plain sum.
  double value() const;

 private:
  static constexpr int limb_bits = 32;
  /// Limb k counts units of 2^(32 k - 1074); the three highest take carries.
  static constexpr std::size_t limbs = 68;
  /// A term changes a limb by less than 2^32, so that so many fit without a carry.
  static constexpr std::int64_t max_terms = std::int64_t{1} << 29;

  void carry();

  std::array<std::int64_t, limbs> limb_{};
  std::int64_t terms_ = 0;
  double not_finite_ = 0.0;
};

}  // namespace meniscus::numerics
