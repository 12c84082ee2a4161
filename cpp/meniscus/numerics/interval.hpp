/// Intervals of real numbers between two doubles, without a change of the rounding mode.
///
/// Every bound is the double next to the exact value, on the outer side, or the exact value where that is a double; so zero stays
/// certain. What has to be known for that, the sign of the rounding error, comes from the error-free sum and product.
///
/// A bound that overflows becomes infinite: such an interval holds all numbers beyond its other bound.
///
/// Sources: Brochu 2012, section 4.2.3; Dekker, "A floating-point technique for extending the available precision", 1971.
#pragma once

#include "meniscus/numerics/expansion.hpp"

#include <limits>

namespace meniscus {

/// The next double above, or below, a finite one. The greatest has infinity above it.
inline double next_above(double x) {
  if (x == 0) return std::numeric_limits<double>::denorm_min();
  const auto bits = std::bit_cast<std::int64_t>(x);
  return std::bit_cast<double>(bits + (x > 0 ? 1 : -1));
}
inline double next_below(double x) { return -next_above(-x); }

class Interval {
 public:
  /// What `sign` returns where both signs, or zero and one sign, are possible.
  static constexpr int undecided = 2;

  Interval() = default;
  /// One finite number.
  explicit Interval(double x) : low_(x), high_(x) {}
  /// All numbers from `low` to `high`. The whole line if one of them is NaN.
  Interval(double low, double high) : low_(low), high_(high) {
    if (low_ <= high_) return;
    low_ = -infinity;
    high_ = infinity;
  }
  /// a - b for finite numbers.
  static Interval difference(double a, double b) { return {sum_below(a, -b), -sum_below(-a, b)}; }

  double low() const { return low_; }
  double high() const { return high_; }
  bool contains(double x) const { return low_ <= x && x <= high_; }
  /// The sign of every number in the interval: +1, -1, or 0 for the interval of zero alone.
  int sign() const { return low_ > 0 ? 1 : high_ < 0 ? -1 : low_ == 0 && high_ == 0 ? 0 : undecided; }

  Interval operator-() const { return {-high_, -low_}; }
  friend Interval operator+(const Interval& a, const Interval& b) {
    return {sum_below(a.low_, b.low_), -sum_below(-a.high_, -b.high_)};
  }
  friend Interval operator-(const Interval& a, const Interval& b) {
    return {sum_below(a.low_, -b.high_), -sum_below(-a.high_, b.low_)};
  }
  friend Interval operator*(const Interval& a, const Interval& b) {
    // Four cases for the signs of b seen from each sign of a; only where both change sign are more than two products needed.
    if (a.low_ >= 0)
      return b.low_ >= 0    ? span(a.low_, b.low_, a.high_, b.high_)
             : b.high_ <= 0 ? span(a.high_, b.low_, a.low_, b.high_)
                            : span(a.high_, b.low_, a.high_, b.high_);
    if (a.high_ <= 0)
      return b.low_ >= 0    ? span(a.low_, b.high_, a.high_, b.low_)
             : b.high_ <= 0 ? span(a.high_, b.high_, a.low_, b.low_)
                            : span(a.low_, b.high_, a.low_, b.low_);
    if (b.low_ >= 0) return span(a.low_, b.high_, a.high_, b.high_);
    if (b.high_ <= 0) return span(a.high_, b.low_, a.low_, b.low_);
    return {std::min(product_below(a.low_, b.high_), product_below(a.high_, b.low_)),
            -std::min(product_below(-a.low_, b.low_), product_below(-a.high_, b.high_))};
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double largest = std::numeric_limits<double>::max();

  /// From the product of the first two numbers to that of the last two.
  static Interval span(double a, double b, double c, double d) { return {product_below(a, b), -product_below(-c, d)}; }

  /// The greatest double that is not above a + b. Lower bounds are never +infinity, so there is no infinity minus infinity.
  static double sum_below(double a, double b) {
    const RoundedPair r = two_sum(a, b);
    if (std::abs(r.value) <= largest) return r.error < 0 ? next_below(r.value) : r.value;
    return r.value > 0 ? largest : -infinity;
  }

  /// The same for a b. An infinite factor stands for some real number, so zero times it is zero.
  static double product_below(double a, double b) {
    if (a == 0 || b == 0) return 0;
    const double p = a * b;
    const double size = std::abs(p);
    if (!(size <= largest)) return p > 0 ? largest : -infinity;
    // Beyond these magnitudes the error may not be a double, or its computation overflows.
    constexpr double least = 0x1p-960;
    constexpr double most = 0x1p990;
    if (size > least && size < most && std::abs(a) < most && std::abs(b) < most)
      return two_product(a, b).error < 0 ? next_below(p) : p;
    return next_below(p);
  }

  double low_ = 0;
  double high_ = 0;
};

}  // namespace meniscus
