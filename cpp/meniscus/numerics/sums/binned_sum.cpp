#include "meniscus/numerics/sums/binned_sum.hpp"

#include "meniscus/numerics/sums/exact_sum.hpp"

#include <algorithm>

namespace meniscus::numerics {

double BinnedSum::unit(int bin) { return std::ldexp(1.0, bin_bits * bin); }

int BinnedSum::top_for(double magnitude) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent, and the limit of bin j is 2^(32 (j + 1) - 1)
  const int bits = exponent + 1;
  const int above = bits >= 0 ? (bits + bin_bits - 1) / bin_bits : -(-bits / bin_bits);
  return magnitude == 0.0 ? lowest + bins - 1 : std::max(above - 1, lowest + bins - 1);
}

void BinnedSum::raise(int top) {
  for (; top_ < top; ++top_) {
    for (std::size_t k = bins - 1; k > 0; --k) count_[k] = count_[k - 1];
    count_[0] = 0;
  }
}

void BinnedSum::add(int top, const std::array<double, bins>& values) {
  raise(top);
  for (int k = 0; k < bins; ++k) {
    const int place = top_ - top + k;
    if (place >= bins) break;
    const int bin = top - k;
    count_[place] += static_cast<std::int64_t>(std::ldexp(values[k], -bin_bits * bin));
  }
}

void BinnedSum::add(double x) {
  const double magnitude = std::abs(x);
  if (!(magnitude < limit(highest))) {
    add_not_finite(std::isfinite(x) ? std::copysign(HUGE_VAL, x) : x);
    return;
  }
  const int top = std::max(top_, top_for(magnitude));
  std::array<double, bins> values;
  for (int k = 0; k < bins; ++k) {
    const double shift = 0x1.8p52 * unit(top - k);
    double& v = values[k];
    v = (x + shift) - shift;
    x -= v;
  }
  add(top, values);
}

void BinnedSum::add(const BinnedSum& other) {
  raise(other.top_);
  for (std::size_t k = 0; k < bins; ++k) {
    const std::size_t place = static_cast<std::size_t>(top_ - other.top_) + k;
    if (place < bins) count_[place] += other.count_[k];
  }
  not_finite_ += other.not_finite_;
}

double BinnedSum::value() const {
  if (not_finite_ != 0.0) return not_finite_;
  ExactSum sum;
  for (int k = 0; k < bins; ++k) {
    const std::int64_t n = count_[k];
    const std::int64_t high = n / (std::int64_t{1} << bin_bits), low = n % (std::int64_t{1} << bin_bits);
    if (high != 0) sum.add(std::ldexp(static_cast<double>(high), bin_bits * (top_ - k + 1)));
    if (low != 0) sum.add(std::ldexp(static_cast<double>(low), bin_bits * (top_ - k)));
  }
  return sum.value();
}

}  // namespace meniscus::numerics
