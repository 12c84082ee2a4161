/// Intervals of real numbers between two doubles, without a change of the rounding mode and without branches.
///
/// Every rounded bound is moved outwards by a little more than the greatest rounding error, to one of the two doubles next to it.
/// Zero stays certain: a difference of equal numbers, or a product with zero, is zero itself. A bound that overflows becomes
/// infinite: such an interval holds all numbers beyond its other bound.
///
/// Sources: Brochu 2012, section 4.2.3; Rump, Zimmermann, Boldo and Melquiond, "Computing predecessor and successor in rounding
/// to nearest", 2009.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::numerics {

class Interval {
 public:
  /// Result of `sign` if both signs, or zero and one sign, are possible.
  static constexpr int undecided = 2;

  /// Zero.
  Interval() = default;
  /// One finite number.
  explicit Interval(double x) : low_(x), high_(x) {}
  /// All numbers from `low` to `high`. The whole line if one of them is NaN, or if they are in the wrong order.
  Interval(double low, double high)
      : low_(low <= high ? std::min(low, largest) : -infinity), high_(low <= high ? std::max(high, -largest) : infinity) {}
  /// a - b for finite numbers.
  static Interval difference(double a, double b) { return around_sum(a - b, a - b); }

  double low() const { return low_; }
  double high() const { return high_; }
  bool contains(double x) const { return low_ <= x && x <= high_; }
  /// The sign of every number in the interval: +1, -1, or 0 for the interval of zero alone.
  int sign() const { return low_ > 0 ? 1 : high_ < 0 ? -1 : is_zero() ? 0 : undecided; }

  Interval operator-() const { return {Ordered{}, -high_, -low_}; }
  // Lower bounds are never +infinity and upper ones never -infinity, so sums of them are never undefined.
  friend Interval operator+(const Interval& a, const Interval& b) { return around_sum(a.low_ + b.low_, a.high_ + b.high_); }
  friend Interval operator-(const Interval& a, const Interval& b) { return around_sum(a.low_ - b.high_, a.high_ - b.low_); }
  friend Interval operator*(const Interval& a, const Interval& b) {
    if (a.is_zero() || b.is_zero()) return {};
    const double p = a.low_ * b.low_;
    const double q = a.low_ * b.high_;
    const double r = a.high_ * b.low_;
    const double s = a.high_ * b.high_;
    // Undefined where a product is (zero times infinity) or where both infinities occur, so that everything is possible.
    const double all = (p + q) + (r + s);
    if (!(std::abs(all) <= infinity)) return {Ordered{}, -infinity, infinity};
    return {Ordered{}, below(std::min(std::min(p, q), std::min(r, s))), above(std::max(std::max(p, q), std::max(r, s)))};
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double largest = std::numeric_limits<double>::max();

  struct Ordered {};
  Interval(Ordered, double low, double high) : low_(low), high_(high) {}

  bool is_zero() const { return low_ == 0 && high_ == 0; }

  /// A double below every number that may have been rounded to x.
  static double below(double x) {
    constexpr double unit = 0x1p-53;
    const double c = std::min(x, largest);
    return c - (unit * (1 + 2 * unit) * std::abs(c) + std::numeric_limits<double>::denorm_min());
  }
  static double above(double x) { return -below(-x); }

  /// Sums do not underflow: one that is zero is exact.
  static Interval around_sum(double low, double high) {
    return {Ordered{}, low == 0 ? 0 : below(low), high == 0 ? 0 : above(high)};
  }

  double low_ = 0;
  double high_ = 0;
};

}  // namespace meniscus::numerics
