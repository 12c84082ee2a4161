/// Signed integers of many bits and fixed capacity, and exact conversion of doubles to them.
///
/// The last resort of exact arithmetic: a set of finite doubles becomes integers through one common power of two, whatever their
/// exponents, and signs of polynomials of these are then exact. The capacity bounds the work; the cost follows the bits in use.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>

namespace meniscus::numerics {

/// The exponents that the set bits of some finite doubles take: every value is an integer multiple of 2^low and in magnitude
/// below 2^high. Zeros have no bits.
struct BitRange {
  int low = 4096;
  int high = -4096;

  /// Extends the range by one finite value.
  void add(double x) {
    if (x == 0) return;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t significand = (bits & 0xfffffffffffffULL) | (exponent ? 0x10000000000000ULL : 0);
    const int unit = std::max(exponent, 1) - 1075;
    low = std::min(low, unit + std::countr_zero(significand));
    high = std::max(high, unit + 64 - std::countl_zero(significand));
  }
  bool empty() const { return high < low; }
  /// Bits of the integers x / 2^low.
  int width() const { return empty() ? 0 : high - low; }
};

/// Uninitialised memory for limbs: within the integer, or on the heap if it is too large for the stack.
template <std::size_t Size>
class InlineLimbs {
 public:
  std::uint64_t* data() { return limb_.data(); }
  const std::uint64_t* data() const { return limb_.data(); }

 private:
  std::array<std::uint64_t, Size> limb_;
};
template <std::size_t Size>
class HeapLimbs {
 public:
  HeapLimbs() : limb_(std::make_unique_for_overwrite<std::uint64_t[]>(Size)) {}
  std::uint64_t* data() { return limb_.get(); }
  const std::uint64_t* data() const { return limb_.get(); }

 private:
  std::unique_ptr<std::uint64_t[]> limb_;
};

/// An integer of at most 64 * Capacity bits and a sign, without the heap up to a capacity of 128. Throws std::logic_error where a
/// result does not fit: callers choose the capacity from the widths of their inputs, so this is a programming error.
template <int Capacity>
class FixedInteger {
 public:
  static constexpr int capacity_bits = 64 * Capacity;

  FixedInteger() = default;
  explicit FixedInteger(std::int64_t x) : negative_(x < 0) {
    if (x != 0) push(x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x));
  }
  FixedInteger(const FixedInteger& b) : size_(b.size_), negative_(b.negative_) { std::copy_n(b.limb(), size_, limb()); }
  FixedInteger& operator=(const FixedInteger& b) {
    size_ = b.size_;
    negative_ = b.negative_;
    std::copy_n(b.limb(), size_, limb());
    return *this;
  }

  /// x / 2^low, which must be an integer.
  static FixedInteger scaled(double x, int low) {
    FixedInteger r;
    if (x == 0) return r;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    std::uint64_t significand = (bits & 0xfffffffffffffULL) | (exponent ? 0x10000000000000ULL : 0);
    int shift = std::max(exponent, 1) - 1075 - low;
    r.negative_ = (bits >> 63) != 0;
    if (shift < 0) {
      significand >>= -shift;
      shift = 0;
    }
    for (int i = 0; i < shift / 64; ++i) r.push(0);
    r.push(significand << (shift % 64));
    const std::uint64_t rest = shift % 64 ? significand >> (64 - shift % 64) : 0;
    if (rest) r.push(rest);
    r.trim();
    return r;
  }

  int sign() const { return size_ == 0 ? 0 : negative_ ? -1 : 1; }

  /// Bits of the magnitude.
  int width() const { return size_ == 0 ? 0 : 64 * size_ - std::countl_zero(limb()[static_cast<std::size_t>(size_) - 1]); }

  FixedInteger operator-() const {
    FixedInteger r = *this;
    r.negative_ = !negative_;
    return r;
  }

  friend FixedInteger operator+(const FixedInteger& a, const FixedInteger& b) { return sum(a, b, b.negative_); }
  friend FixedInteger operator-(const FixedInteger& a, const FixedInteger& b) { return sum(a, b, !b.negative_); }

  friend FixedInteger operator*(const FixedInteger& a, const FixedInteger& b) {
    FixedInteger r;
    if (a.size_ == 0 || b.size_ == 0) return r;
    const int size = a.size_ + b.size_;
    // One limb more than the product may need is written, never read as part of the value.
    check(size <= Capacity + 1);
    r.negative_ = a.negative_ != b.negative_;
    std::fill_n(r.limb(), static_cast<std::size_t>(size), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.size_); ++i) {
      std::uint64_t carry = 0;
      const std::uint64_t x = a.limb()[i];
      for (std::size_t j = 0; j < static_cast<std::size_t>(b.size_); ++j) {
        const Wide t = static_cast<Wide>(x) * b.limb()[j] + r.limb()[i + j] + carry;
        r.limb()[i + j] = static_cast<std::uint64_t>(t);
        carry = static_cast<std::uint64_t>(t >> 64);
      }
      r.limb()[i + static_cast<std::size_t>(b.size_)] = carry;
    }
    r.size_ = size;
    r.trim();
    check(r.size_ <= Capacity);
    return r;
  }

  /// a / b, where b divides a; throws std::logic_error where it does not. The quotient grows from its lowest limb, which the
  /// lowest ones of a and b determine (Jebelean, "An algorithm for exact division", 1993).
  friend FixedInteger exact_quotient(const FixedInteger& a, const FixedInteger& b) {
    if (b.size_ == 0) throw std::logic_error("a division by zero is not exact");
    FixedInteger q;
    if (a.size_ == 0) return q;
    FixedInteger divisor = b;
    divisor.drop_low_bits(b.trailing_zeros());
    FixedInteger rest = a;
    rest.drop_low_bits(b.trailing_zeros());
    const bool fits = a.trailing_zeros() >= b.trailing_zeros() && rest.size_ >= divisor.size_;
    if (!fits) throw std::logic_error("a division of integers is not exact");
    const std::uint64_t odd = divisor.limb()[0];
    std::uint64_t inverse = 3 * odd ^ 2;
    for (int i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
    const auto n = static_cast<std::size_t>(rest.size_);
    for (std::size_t i = 0; i + static_cast<std::size_t>(divisor.size_) <= n; ++i) {
      const std::uint64_t digit = rest.limb()[i] * inverse;
      q.push(digit);
      std::uint64_t carry = 0;
      for (std::size_t j = i; j < n; ++j) {
        const std::size_t k = j - i;
        const Wide t = (k < static_cast<std::size_t>(divisor.size_) ? static_cast<Wide>(digit) * divisor.limb()[k] : 0) + carry;
        const auto low = static_cast<std::uint64_t>(t);
        carry = static_cast<std::uint64_t>(t >> 64) + (rest.limb()[j] < low);
        rest.limb()[j] -= low;
      }
      // The remainder of an exact division is never negative.
      if (carry != 0) throw std::logic_error("a division of integers is not exact");
    }
    rest.trim();
    if (rest.size_ != 0) throw std::logic_error("a division of integers is not exact");
    q.trim();
    q.negative_ = a.negative_ != b.negative_;
    return q;
  }

  friend bool operator==(const FixedInteger& a, const FixedInteger& b) {
    return a.sign() == b.sign() && compare_magnitude(a, b) == 0;
  }
  friend bool operator<(const FixedInteger& a, const FixedInteger& b) { return (a - b).sign() < 0; }

 private:
  std::uint64_t* limb() { return limbs_.data(); }
  const std::uint64_t* limb() const { return limbs_.data(); }

  __extension__ typedef unsigned __int128 Wide;

  static void check(bool fits) {
    if (!fits) throw std::logic_error("an integer does not fit its capacity");
  }
  void push(std::uint64_t x) {
    check(size_ < Capacity);
    limb()[size_++] = x;
  }
  int trailing_zeros() const {
    for (int i = 0; i < size_; ++i)
      if (const std::uint64_t x = limb()[i]) return 64 * i + std::countr_zero(x);
    return 0;
  }
  void drop_low_bits(int bits) {
    const auto limbs = static_cast<std::size_t>(bits / 64);
    const int rest = bits % 64;
    const auto n = static_cast<std::size_t>(size_);
    for (std::size_t i = limbs; i < n; ++i) {
      const std::uint64_t above = i + 1 < n && rest ? limb()[i + 1] << (64 - rest) : 0;
      limb()[i - limbs] = limb()[i] >> rest | above;
    }
    size_ = std::max(size_ - bits / 64, 0);
    trim();
  }
  void trim() {
    while (size_ > 0 && limb()[static_cast<std::size_t>(size_) - 1] == 0) --size_;
  }

  static int compare_magnitude(const FixedInteger& a, const FixedInteger& b) {
    if (a.size_ != b.size_) return a.size_ < b.size_ ? -1 : 1;
    for (auto i = static_cast<std::size_t>(a.size_); i-- > 0;)
      if (a.limb()[i] != b.limb()[i]) return a.limb()[i] < b.limb()[i] ? -1 : 1;
    return 0;
  }

  /// a + b where b counts as negative or not.
  static FixedInteger sum(const FixedInteger& a, const FixedInteger& b, bool b_negative) {
    FixedInteger r;
    if (a.size_ == 0 || b.size_ == 0 || a.negative_ == b_negative) {
      const FixedInteger& longer = a.size_ < b.size_ ? b : a;
      const FixedInteger& other = a.size_ < b.size_ ? a : b;
      r.negative_ = a.size_ == 0 ? b_negative : a.negative_;
      std::uint64_t carry = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(longer.size_); ++i) {
        const Wide t =
            static_cast<Wide>(longer.limb()[i]) + (i < static_cast<std::size_t>(other.size_) ? other.limb()[i] : 0) + carry;
        r.limb()[i] = static_cast<std::uint64_t>(t);
        carry = static_cast<std::uint64_t>(t >> 64);
      }
      r.size_ = longer.size_;
      if (carry) r.push(carry);
      return r;
    }
    const int order = compare_magnitude(a, b);
    if (order == 0) return r;
    const FixedInteger& larger = order > 0 ? a : b;
    const FixedInteger& smaller = order > 0 ? b : a;
    r.negative_ = order > 0 ? a.negative_ : b_negative;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(larger.size_); ++i) {
      const Wide t =
          static_cast<Wide>(larger.limb()[i]) - (i < static_cast<std::size_t>(smaller.size_) ? smaller.limb()[i] : 0) - borrow;
      r.limb()[i] = static_cast<std::uint64_t>(t);
      borrow = static_cast<std::uint64_t>(t >> 64) & 1;
    }
    r.size_ = larger.size_;
    r.trim();
    return r;
  }

  std::int32_t size_ = 0;
  bool negative_ = false;
  std::conditional_t<(Capacity <= 128), InlineLimbs<Capacity + 1>, HeapLimbs<Capacity + 1>> limbs_;
};

}  // namespace meniscus::numerics
