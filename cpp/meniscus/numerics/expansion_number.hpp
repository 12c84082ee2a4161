/// Expansions as a number type of fixed capacity: sums, differences, products and exact quotients.
///
/// For algorithms whose intermediate results are known to be small, such as fraction-free elimination, where every division is
/// exact. Values have to be scaled so that nothing overflows or underflows (`exact_scaling`).
///
/// Source: Brochu 2012, section 4.4.2.
#pragma once

#include "meniscus/numerics/expansion.hpp"

namespace meniscus::numerics {

/// A sum of at most `Capacity` doubles. Throws std::logic_error where a result needs more.
template <int Capacity>
class ExpansionNumber {
 public:
  ExpansionNumber() = default;
  explicit ExpansionNumber(std::int64_t x) : value_(static_cast<double>(x)) {}
  /// x / 2^low.
  static ExpansionNumber scaled(double x, int low) { return ExpansionNumber(Value(low == 0 ? x : std::ldexp(x, -low))); }

  int sign() const {
    const int n = value_.size();
    return n <= 0 ? 0 : value_[n - 1] > 0 ? 1 : -1;
  }

  ExpansionNumber operator-() const { return ExpansionNumber(-value_); }
  friend ExpansionNumber operator+(const ExpansionNumber& a, const ExpansionNumber& b) { return kept(a.value_ + b.value_); }
  friend ExpansionNumber operator-(const ExpansionNumber& a, const ExpansionNumber& b) { return kept(a.value_ - b.value_); }
  friend ExpansionNumber operator*(const ExpansionNumber& a, const ExpansionNumber& b) { return kept(a.value_ * b.value_); }

  /// a / b, where b divides a; throws std::logic_error where it does not.
  ///
  /// Division of the leading components gives the leading bits of the quotient. Of these, half a double is taken at a time. A
  /// remaining quotient with fewer bits is then exact, so that nothing below its last bit appears.
  friend ExpansionNumber exact_quotient(const ExpansionNumber& a, const ExpansionNumber& b) {
    if (b.sign() == 0) throw std::logic_error("a division by zero is not exact");
    const double divisor = b.value_[b.value_.size() - 1];
    ExpansionNumber rest = a;
    ExpansionNumber quotient;
    for (int i = 0; rest.sign() != 0; ++i) {
      if (i == 4 * Capacity) throw std::logic_error("a division of expansions is not exact");
      int exponent = 0;
      const double leading = std::frexp(rest.value_[rest.value_.size() - 1] / divisor, &exponent);
      const double digits = std::ldexp(std::nearbyint(std::ldexp(leading, 26)), exponent - 26);
      quotient = kept(quotient.value_ + Expansion<1>(digits));
      rest = kept(rest.value_ - b.value_.scaled(digits));
    }
    return quotient;
  }

 private:
  using Value = Expansion<Capacity>;
  explicit ExpansionNumber(const Value& value) : value_(value) {}
  template <int N>
  static ExpansionNumber kept(const Expansion<N>& e) {
    return ExpansionNumber(e.template compressed<Capacity>());
  }

  Value value_;
};

}  // namespace meniscus::numerics
