// Tests of expansions against residues modulo two primes (value) and long integers (sign), and of their invariants.
#include "meniscus/numerics/expansion.hpp"

#include "meniscus/core/parallel.hpp"

#include "random_doubles.hpp"
#include "test_size.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace meniscus;
using namespace meniscus::tests;

namespace {

template <int N>
Residues residues(const numerics::Expansion<N>& e) {
  Residues r;
  for (int i = 0; i < e.size(); ++i) r = r + Residues::of(e[i]);
  return r;
}

/// No zeros, growing magnitudes, and no bit of a component at or above the last bit of the next.
template <int N>
bool well_formed(const numerics::Expansion<N>& e) {
  for (int i = 0; i < e.size(); ++i) {
    if (e[i] == 0) return false;
    if (i == 0) continue;
    numerics::BitRange lower, upper;
    lower.add(e[i - 1]);
    upper.add(e[i]);
    if (lower.high > upper.low) return false;
  }
  return true;
}

/// The sign of the same sum in long integers.
template <int N>
int integer_sign(const numerics::Expansion<N>& e) {
  numerics::BitRange range;
  for (int i = 0; i < e.size(); ++i) range.add(e[i]);
  numerics::FixedInteger<40> sum;
  for (int i = 0; i < e.size(); ++i) sum = sum + numerics::FixedInteger<40>::scaled(e[i], range.low);
  return sum.sign();
}

template <int N>
bool correct(const numerics::Expansion<N>& e, const Residues& r) {
  return well_formed(e) && residues(e) == r && e.sign() == integer_sign(e);
}

/// Differences, a minor of two of them, its products, its packed form and its square.
void check_case(RandomDoubles& random, Index n) {
  const int spread = n % 4 == 0 ? 2 : n % 4 == 1 ? 30 : n % 4 == 2 ? 60 : 150;
  std::array<double, 8> v;
  std::array<Residues, 8> r;
  for (std::size_t i = 0; i < 8; ++i) {
    v[i] = i > 0 && random.integer(0, 9) == 0 ? v[i - 1] : random.with_exponent(-spread, spread);
    r[i] = Residues::of(v[i]);
  }
  const auto a = numerics::Expansion<2>::difference(v[0], v[1]);
  const auto b = numerics::Expansion<2>::difference(v[2], v[3]);
  const auto c = numerics::Expansion<2>::difference(v[4], v[5]);
  const auto d = numerics::Expansion<2>::difference(v[6], v[7]);
  const Residues ra = r[0] - r[1], rb = r[2] - r[3], rc = r[4] - r[5], rd = r[6] - r[7];
  const numerics::Expansion<16> minor = a * d - b * c;
  const Residues rm = ra * rd - rb * rc;
  REQUIRE(correct(a, ra));
  REQUIRE(correct(minor, rm));
  REQUIRE(correct(minor * c, rm * rc));
  REQUIRE(correct(c * minor, rm * rc));
  REQUIRE(correct(minor.scaled(v[3]), rm * r[3]));
  REQUIRE(correct((-minor).grown(v[5]), r[5] - rm));
  REQUIRE((minor - minor).sign() == 0);
  REQUIRE((minor - minor).size() == 0);
  const numerics::Expansion<16> packed = minor.compressed();
  REQUIRE(correct(packed, rm));
  REQUIRE(packed.size() <= minor.size());
  numerics::BitRange bits;
  for (int i = 0; i < minor.size(); ++i) bits.add(minor[i]);
  REQUIRE(packed.size() <= bits.width() / 53 + 2);
  if (const int last = packed.size() - 1; last > 0) REQUIRE(packed[last - 1] + packed[last] == packed[last]);
  const double estimate = minor.estimate();
  if (minor.size() > 0) REQUIRE(std::abs(estimate - packed[packed.size() - 1]) <= 4e-16 * std::abs(estimate));
  const numerics::Expansion<512> square = packed * packed;
  REQUIRE(correct(square, rm * rm));
  REQUIRE(square.sign() == (minor.sign() == 0 ? 0 : 1));
}

}  // namespace

TEST_CASE("errors of sums and products of two doubles") {
  RandomDoubles random(11);
  for (int n = 0; n < 1000000; ++n) {
    const double a = n % 2 ? random.with_exponent(-480, 480) : random.with_exponent(-3, 3);
    const double b = n % 2 ? random.with_exponent(-480, 480) : random.with_exponent(-3, 3);
    const numerics::RoundedPair s = numerics::two_sum(a, b);
    const numerics::RoundedPair d = numerics::two_difference(a, b);
    const numerics::RoundedPair p = numerics::two_product(a, b);
    bool good = s.value == a + b && d.value == a - b && p.value == a * b;
    good = good && p.error == std::fma(a, b, -p.value);
    good = good && Residues::of(s.value) + Residues::of(s.error) == Residues::of(a) + Residues::of(b);
    if (std::abs(a) >= std::abs(b)) {
      const numerics::RoundedPair f = numerics::fast_two_sum(a, b);
      good = good && f.value == s.value && f.error == s.error;
    }
    REQUIRE(good);
  }
}

TEST_CASE("sums, products and differences of expansions") {
  core::parallel_for(0, choose(80'000, 1'000'000), 10'000, [](Index begin, Index end) {
    RandomDoubles random(12 + static_cast<std::uint64_t>(begin));
    for (Index n = begin; n < end; ++n) check_case(random, n);
  });
}

TEST_CASE("capacity is checked") {
  const numerics::Expansion<2> two = numerics::Expansion<2>::difference(1.0, 0x1p-80);
  CHECK(two.size() == 2);
  CHECK_THROWS_AS(two.compressed<1>(), std::logic_error);
  CHECK(numerics::Expansion<2>::difference(3.0, 3.0).size() == 0);
  CHECK(numerics::Expansion<1>(0.0).sign() == 0);
  CHECK(numerics::Expansion<1>(-2.0).sign() == -1);
  CHECK((numerics::Expansion<1>(0.0) * numerics::Expansion<1>(5.0)).size() == 0);
}

TEST_CASE("values are scaled so that nothing over- or underflows, or not at all") {
  RandomDoubles random(13);
  int scaled = 0;
  int refused = 0;
  for (int n = 0; n < 200000; ++n) {
    const int center = random.integer(-1000, 1000);
    const int spread = random.integer(0, 400);
    std::array<double, 6> v;
    numerics::BitRange range;
    for (double& x : v) {
      const int exponent = std::clamp(center + random.integer(-spread, spread), -1000, 1000);
      range.add(x = random.with_exponent(exponent, exponent));
    }
    const auto shift = numerics::exact_scaling(range, 3);
    if (!shift) {
      // Then the bits of the product are too many for the exponents of doubles.
      REQUIRE(3 * (range.width() + 1) > 2030);
      ++refused;
      continue;
    }
    scaled += *shift != 0;
    std::array<double, 6> x;
    std::array<Residues, 6> r;
    for (std::size_t i = 0; i < 6; ++i) {
      x[i] = std::ldexp(v[i], *shift);
      REQUIRE(std::ldexp(x[i], -*shift) == v[i]);
      r[i] = Residues::of(x[i]);
    }
    const auto product = numerics::Expansion<2>::difference(x[0], x[1]) * numerics::Expansion<2>::difference(x[2], x[3]) *
                         numerics::Expansion<2>::difference(x[4], x[5]);
    REQUIRE(residues(product) == (r[0] - r[1]) * (r[2] - r[3]) * (r[4] - r[5]));
  }
  CHECK(scaled > 20000);
  CHECK(refused > 3000);
}
