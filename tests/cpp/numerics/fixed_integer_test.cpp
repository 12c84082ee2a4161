// Tests of long integers against residues modulo two primes, which the low bits do not determine, and against machine integers.
#include "meniscus/numerics/fixed_integer.hpp"

#include "random_doubles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

using namespace meniscus;
using namespace meniscus::tests;

namespace {

__extension__ typedef __int128 Wide;

/// The integer of a machine integer of 128 bits, by way of doubles.
template <int N>
numerics::FixedInteger<N> from(Wide x) {
  const bool negative = x < 0;
  const auto size = negative ? -x : x;
  numerics::FixedInteger<N> r;
  for (int k = 0; k < 5; ++k) {
    const auto digit = static_cast<double>(static_cast<std::int64_t>(size >> (26 * k) & ((1 << 26) - 1)));
    r = r + numerics::FixedInteger<N>::scaled(std::ldexp(digit, 26 * k), 0);
  }
  return negative ? -r : r;
}

int sign(Wide x) { return (x > 0) - (x < 0); }

}  // namespace

TEST_CASE("integers of the machine") {
  RandomDoubles random(1);
  for (int n = 0; n < 300000; ++n) {
    const auto draw = [&] { return static_cast<std::int64_t>(random.word()) >> random.integer(1, 63); };
    const std::int64_t a = draw();
    const std::int64_t b = draw();
    const numerics::FixedInteger<3> x(a);
    const numerics::FixedInteger<3> y(b);
    const bool equal = x + y == from<3>(static_cast<Wide>(a) + b) && x - y == from<3>(static_cast<Wide>(a) - b) &&
                       x * y == from<3>(static_cast<Wide>(a) * b) && (x < y) == (a < b) && (x == y) == (a == b) &&
                       x.sign() == sign(a) && (x - y).sign() == sign(static_cast<Wide>(a) - b) &&
                       x.width() == 64 - std::countl_zero(static_cast<std::uint64_t>(std::abs(a)));
    REQUIRE(equal);
  }
}

TEST_CASE("integers of all widths") {
  RandomDoubles random(2);
  using Integer = numerics::FixedInteger<70>;
  for (int n = 0; n < 100000; ++n) {
    std::array<double, 6> v;
    numerics::BitRange range;
    const int spread = n % 3 == 0 ? 10 : n % 3 == 1 ? 100 : 900;
    for (double& x : v) range.add(x = n % 7 == 0 ? random.any() : random.with_exponent(-spread, spread));
    std::array<Integer, 6> x;
    std::array<Residues, 6> r;
    for (std::size_t i = 0; i < 6; ++i) {
      x[i] = Integer::scaled(v[i], range.low);
      r[i] = Residues::of(v[i], -range.low);
      REQUIRE(x[i].width() <= range.width());
      REQUIRE(x[i].sign() == (v[i] > 0) - (v[i] < 0));
    }
    // (x0 - x1)(x2 + x3) = x0 x2 + x0 x3 - x1 x2 - x1 x3, and both sides have the residues of the doubles.
    const Integer product = (x[0] - x[1]) * (x[2] + x[3]);
    const Integer sum = x[0] * x[2] + x[0] * x[3] - x[1] * x[2] - x[1] * x[3];
    REQUIRE(product == sum);
    REQUIRE((product - sum).sign() == 0);
    REQUIRE((v[0] < v[1]) == (x[0] < x[1]));
    // A residue of a long integer, from its comparisons and products alone: add its difference to known numbers.
    const Integer z = x[4] * x[5] + product;
    const Residues rz = r[4] * r[5] + (r[0] - r[1]) * (r[2] + r[3]);
    // Subtract the leading bits as doubles until nothing is left, and sum up their residues.
    Integer rest = z;
    Residues total;
    while (rest.sign() != 0) {
      const int top = rest.width() - 1;
      Integer unit(1);
      for (int left = top; left > 0; left -= 60) unit = unit * Integer(std::int64_t{1} << std::min(left, 60));
      const Residues power{Residues::power_of_two(top, Residues::p), Residues::power_of_two(top, Residues::q)};
      total = rest.sign() > 0 ? total + power : total - power;
      rest = rest.sign() > 0 ? rest - unit : rest + unit;
      if (n % 50 != 0) break;  // bit by bit is slow
    }
    if (n % 50 == 0) REQUIRE(total == rz);
  }
}

TEST_CASE("capacity is checked") {
  using Integer = numerics::FixedInteger<2>;
  const Integer large = Integer::scaled(0x1p127, 0);
  CHECK(large.width() == 128);
  CHECK_THROWS_AS(large + large, std::logic_error);
  CHECK_THROWS_AS(large * Integer(4), std::logic_error);
  CHECK_THROWS_AS(Integer::scaled(0x1p128, 0), std::logic_error);
  CHECK((large - large).sign() == 0);
  CHECK((Integer::scaled(0x1p63, 0) * Integer::scaled(0x1p64, 0)) == large);
}

TEST_CASE("ranges of bits") {
  numerics::BitRange none;
  CHECK(none.empty());
  none.add(0.0);
  none.add(-0.0);
  CHECK(none.empty());
  CHECK(none.width() == 0);
  numerics::BitRange range;
  range.add(-6.0);
  CHECK(range.low == 1);
  CHECK(range.high == 3);
  range.add(0x1p-1074);
  range.add(std::numeric_limits<double>::max());
  CHECK(range.low == -1074);
  CHECK(range.high == 1024);
  RandomDoubles random(3);
  for (int n = 0; n < 100000; ++n) {
    const double x = random.any();
    if (x == 0) continue;
    numerics::BitRange one;
    one.add(x);
    const double unit = std::ldexp(x, -one.low);
    REQUIRE(unit == std::trunc(unit));
    REQUIRE(std::fmod(unit, 2.0) != 0);
    REQUIRE(std::ilogb(x) + 1 == one.high);
  }
}
