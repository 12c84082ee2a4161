// Doubles of all kinds for tests of exact arithmetic, and residues of sums and products of them: a value m 2^e has one modulo
// each prime, computed without any of the code under test.
#pragma once

#include "meniscus/core/random.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace meniscus::tests {

/// A sequence of random words and of finite doubles.
class RandomDoubles {
 public:
  explicit RandomDoubles(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t word() {
    const Philox4 w = CounterRandom(seed_, count_++, 0).words(0);
    return std::uint64_t{w[0]} << 32 | w[1];
  }
  int integer(int low, int high) { return low + static_cast<int>(word() % static_cast<std::uint64_t>(high - low + 1)); }
  /// With an exponent from `low` to `high`, and a significand of few bits, many bits, or many bits in two groups.
  double with_exponent(int low, int high) {
    std::uint64_t m = word() >> 11;
    const int kind = integer(0, 3);
    if (kind == 0) m >>= integer(30, 52);
    if (kind == 1) m = (m >> integer(20, 50)) | std::uint64_t{1} << 52;
    const double x = std::ldexp(static_cast<double>(m), integer(low, high) - 53);
    return word() & 1 ? -x : x;
  }
  /// Any finite double: of all magnitudes, subnormal, zero, small, next to a power of two.
  double any() {
    switch (integer(0, 6)) {
      case 0:
        return static_cast<double>(integer(-3, 3));
      case 1:
        return with_exponent(-1074, -1000);
      case 2:
        return with_exponent(900, 1023);
      case 3:
        return std::nextafter(std::ldexp(word() & 1 ? -1.0 : 1.0, integer(-1074, 1023)), 0.0);
      case 4:
        return with_exponent(-2, 2);
      default: {
        const double x = std::bit_cast<double>(word());
        return std::isfinite(x) ? x : 0.0;
      }
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

/// A number modulo the Mersenne prime 2^61 - 1 and modulo 2^64 - 59.
struct Residues {
  __extension__ typedef unsigned __int128 Wide;
  static constexpr std::uint64_t p = (std::uint64_t{1} << 61) - 1;
  static constexpr std::uint64_t q = ~std::uint64_t{0} - 58;
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  static std::uint64_t times(std::uint64_t x, std::uint64_t y, std::uint64_t m) {
    return static_cast<std::uint64_t>(static_cast<Wide>(x) * y % m);
  }
  static std::uint64_t plus(std::uint64_t x, std::uint64_t y, std::uint64_t m) {
    return static_cast<std::uint64_t>((static_cast<Wide>(x) + y) % m);
  }
  static std::uint64_t power_of_two(int e, std::uint64_t m) {
    // A negative power is one of the inverse of 2, (m + 1) / 2.
    std::uint64_t base = e < 0 ? m / 2 + 1 : 2;
    std::uint64_t r = 1;
    for (unsigned n = static_cast<unsigned>(std::abs(e)); n; n >>= 1) {
      if (n & 1) r = times(r, base, m);
      base = times(base, base, m);
    }
    return r;
  }

  static Residues of_integer(std::uint64_t x) { return {x % p, x % q}; }
  /// x 2^shift.
  static Residues of(double x, int shift = 0) {
    int e = 0;
    const double f = std::frexp(x, &e);
    const auto m = static_cast<std::uint64_t>(std::ldexp(std::abs(f), 53));
    const Residues r{times(m % p, power_of_two(e - 53 + shift, p), p), times(m % q, power_of_two(e - 53 + shift, q), q)};
    return x < 0 ? -r : r;
  }

  Residues operator-() const { return {(p - a) % p, (q - b) % q}; }
  friend Residues operator+(const Residues& x, const Residues& y) { return {plus(x.a, y.a, p), plus(x.b, y.b, q)}; }
  friend Residues operator-(const Residues& x, const Residues& y) { return x + (-y); }
  friend Residues operator*(const Residues& x, const Residues& y) { return {times(x.a, y.a, p), times(x.b, y.b, q)}; }
  friend bool operator==(const Residues&, const Residues&) = default;
};

}  // namespace meniscus::tests
