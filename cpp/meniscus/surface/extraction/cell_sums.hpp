/// Sums of parts of cells that do not depend on the order of the terms, for many sums at once.
#pragma once

#include "meniscus/core/types.hpp"

#include <cmath>

namespace meniscus::surface {

/// A sum of numbers from -64 to 64, each of them rounded to a multiple of 2^-62: as long as there are fewer than 2^30, these are
/// added exactly. Takes 16 bytes, where sums for numbers of any size take more.
class CellSum {
 public:
  void add(double x) {
    const double large = x * 0x1p30, whole = std::floor(large);
    high_ += static_cast<std::int64_t>(whole);
    low_ += static_cast<std::int64_t>(std::nearbyint((large - whole) * 0x1p32));
  }
  void add(const CellSum& other) {
    high_ += other.high_;
    low_ += other.low_;
  }
  /// Rounded to double, the same for the same terms in any order.
  double value() const {
    const std::int64_t carry = low_ >> 32;
    return static_cast<double>(high_ + carry) * 0x1p-30 + static_cast<double>(low_ - (carry << 32)) * 0x1p-62;
  }

 private:
  std::int64_t high_ = 0, low_ = 0;
};

}  // namespace meniscus::surface
