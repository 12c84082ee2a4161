#include "meniscus/numerics/sums/exact_sum.hpp"

#include <bit>
#include <cmath>

namespace meniscus::numerics {

void ExactSum::add(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) {
    not_finite_ += x;
    return;
  }
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent > 0) mantissa |= std::uint64_t{1} << 52;
  const int shift = exponent > 0 ? exponent - 1 : 0;
  const Index k = shift / limb_bits;
  const int offset = shift % limb_bits;
  // The 53 bits in three limbs: 32 - offset bits, 32 bits, and the rest.
  constexpr std::uint64_t mask = (std::uint64_t{1} << limb_bits) - 1;
  const auto low = static_cast<std::int64_t>(mantissa << offset & mask);
  const std::uint64_t rest = mantissa >> (limb_bits - offset);
  const auto middle = static_cast<std::int64_t>(rest & mask), high = static_cast<std::int64_t>(rest >> limb_bits);
  const std::int64_t sign = bits >> 63 ? -1 : 1;
  limb_[k] += sign * low;
  limb_[k + 1] += sign * middle;
  limb_[k + 2] += sign * high;
  if (++terms_ == max_terms) carry();
}

void ExactSum::add(const ExactSum& other) {
  ExactSum more = other;
  more.carry();
  carry();
  for (std::size_t k = 0; k < limbs; ++k) limb_[k] += more.limb_[k];
  terms_ = 2;
  not_finite_ += more.not_finite_;
}

/// Brings all limbs but the highest into [0, 2^32).
void ExactSum::carry() {
  for (std::size_t k = 0; k + 1 < limbs; ++k) {
    const std::int64_t over = limb_[k] >> limb_bits;
    limb_[k] -= over * (std::int64_t{1} << limb_bits);
    limb_[k + 1] += over;
  }
  terms_ = 1;
}

double ExactSum::value() const {
  if (not_finite_ != 0.0) return not_finite_;  // also for NaN
  ExactSum s = *this;
  s.carry();
  const bool negative = s.limb_[limbs - 1] < 0;
  if (negative) {
    for (std::int64_t& v : s.limb_) v = -v;
    s.carry();
  }
  std::size_t top = limbs;
  while (top > 0 && s.limb_[top - 1] == 0) --top;
  if (top == 0) return 0.0;
  // The leading 64 bits, and whether there is anything below them.
  const auto at = [&](std::size_t below) {
    return top > below ? static_cast<std::uint64_t>(s.limb_[top - 1 - below]) : std::uint64_t{0};
  };
  const int lead = std::countl_zero(at(0)) - (64 - limb_bits);
  std::uint64_t bits = (at(0) << limb_bits | at(1)) << lead;
  if (lead > 0) bits |= at(2) >> (limb_bits - lead);
  bool below = lead > 0 ? (at(2) & ((std::uint64_t{1} << (limb_bits - lead)) - 1)) != 0 : at(2) != 0;
  for (std::size_t k = 3; k < top && !below; ++k) below = at(k) != 0;
  // 53 of them stay.
  constexpr int cut = 11;
  const std::uint64_t rest = bits & ((std::uint64_t{1} << cut) - 1), half = std::uint64_t{1} << (cut - 1);
  std::uint64_t mantissa = bits >> cut;
  if (rest > half || (rest == half && (below || (mantissa & 1)))) ++mantissa;
  const int exponent = limb_bits * (static_cast<int>(top) - 2) - 1074 - lead + cut;
  const double magnitude = std::ldexp(static_cast<double>(mantissa), exponent);
  return negative ? -magnitude : magnitude;
}

}  // namespace meniscus::numerics
