// Tests of intervals: they contain the exact result of every operation, for all finite doubles, and little more.
#include "meniscus/numerics/interval.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/fixed_integer.hpp"

#include "random_doubles.hpp"
#include "test_size.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace meniscus;
using namespace meniscus::tests;

namespace {

using Integer = numerics::FixedInteger<70>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Order of a double (or infinity) and an exact number in units of 2^low.
int compare(double bound, const Integer& exact, int low) {
  if (bound == infinity) return 1;
  if (bound == -infinity) return -1;
  return (Integer::scaled(bound, low) - exact).sign();
}

numerics::Interval random_interval(RandomDoubles& random) {
  const double a = random.any();
  switch (random.integer(0, 3)) {
    case 0:
      return numerics::Interval(a);
    case 1:
      return {a, std::nextafter(a, infinity)};
    default: {
      const double b = random.any();
      return {std::min(a, b), std::max(a, b)};
    }
  }
}

/// The bounds, or a point between them.
double member(const numerics::Interval& x, int which, RandomDoubles& random) {
  if (which == 0) return x.low();
  if (which == 1) return x.high();
  return std::clamp(random.any(), x.low(), x.high());
}

/// `exact` lies in the interval.
bool holds(const numerics::Interval& x, const Integer& exact, int low) {
  return compare(x.low(), exact, low) <= 0 && compare(x.high(), exact, low) >= 0;
}

/// Calls check(random) n times, in pieces that run at the same time; it returns whether all is as it should be.
template <class Check>
void check_many(std::uint64_t seed, int n, Check&& check) {
  core::parallel_for(0, n, 10'000, [&](Index begin, Index end) {
    RandomDoubles random(seed + static_cast<std::uint64_t>(begin));
    for (Index i = begin; i < end; ++i) REQUIRE(check(random));
  });
}

}  // namespace

TEST_CASE("sums, differences and products are contained") {
  check_many(22, choose(400'000, 10'000'000), [](RandomDoubles& random) {
    const numerics::Interval a = random_interval(random);
    const numerics::Interval b = random_interval(random);
    const numerics::Interval sum = a + b;
    const numerics::Interval difference = a - b;
    const numerics::Interval product = a * b;
    const double x = member(a, random.integer(0, 3), random);
    const double y = member(b, random.integer(0, 3), random);
    const Integer ix = Integer::scaled(x, -1074);
    const Integer iy = Integer::scaled(y, -1074);
    bool good = holds(sum, ix + iy, -1074) && holds(difference, ix - iy, -1074) && holds(product, ix * iy, -2148) &&
                holds(-a, -ix, -1074) && holds(numerics::Interval::difference(x, y), ix - iy, -1074);
    good = good && sum.low() <= sum.high() && product.low() <= product.high();
    // A sign that is certain is that of every member.
    const int sign = product.sign();
    good = good && (sign == numerics::Interval::undecided || sign == (ix * iy).sign());
    const int sum_sign = sum.sign();
    return good && (sum_sign == numerics::Interval::undecided || sum_sign == (ix + iy).sign());
  });
}

TEST_CASE("bounds are at most the second doubles outside of the exact ones") {
  check_many(23, choose(200'000, 2'000'000), [](RandomDoubles& random) {
    const double x = random.any();
    const double y = random.any();
    const Integer ix = Integer::scaled(x, -1074);
    const Integer iy = Integer::scaled(y, -1074);
    const auto tight = [](const numerics::Interval& r, const Integer& exact, int low) {
      // Moved inwards by two doubles and one for the rounding itself, the bounds are beyond the exact value.
      double inside_low = r.low();
      double inside_high = r.high();
      for (int k = 0; k < 3; ++k) {
        inside_low = std::nextafter(inside_low, infinity);
        inside_high = std::nextafter(inside_high, -infinity);
      }
      return (r.low() == -infinity || compare(inside_low, exact, low) > 0) &&
             (r.high() == infinity || compare(inside_high, exact, low) < 0);
    };
    return tight(numerics::Interval(x) + numerics::Interval(y), ix + iy, -1074) &&
           tight(numerics::Interval(x) - numerics::Interval(y), ix - iy, -1074) &&
           tight(numerics::Interval(x) * numerics::Interval(y), ix * iy, -2148);
  });
}

TEST_CASE("overflow, infinity and what is no number") {
  const double most = std::numeric_limits<double>::max();
  const numerics::Interval large(most);
  CHECK((large + large).low() > 0.99 * most);
  CHECK((large + large).high() == infinity);
  CHECK((large * -large).low() == -infinity);
  CHECK((large * -large).high() < -0.99 * most);
  CHECK((large * large).sign() == 1);
  const numerics::Interval line(std::numeric_limits<double>::quiet_NaN(), 1.0);
  CHECK(line.low() == -infinity);
  CHECK(line.high() == infinity);
  CHECK(numerics::Interval(1.0, std::numeric_limits<double>::quiet_NaN()).low() == -infinity);
  CHECK(numerics::Interval(2.0, 1.0).high() == infinity);
  CHECK(numerics::Interval(infinity, infinity).low() == most);
  CHECK(line.sign() == numerics::Interval::undecided);
  CHECK((line * numerics::Interval(0.0)).sign() == 0);
  CHECK((line - line).sign() == numerics::Interval::undecided);
  CHECK((line * line).sign() == numerics::Interval::undecided);
  CHECK((line * numerics::Interval(0.0, 1.0)).sign() == numerics::Interval::undecided);
  const numerics::Interval above(1.0, infinity);
  CHECK((above * above).sign() == 1);
  CHECK((above * above).high() == infinity);
  CHECK((above * -above).sign() == -1);
  CHECK((above + above).low() > 1.99);
  CHECK((above - above).sign() == numerics::Interval::undecided);
  CHECK(numerics::Interval(0x1p-1074).sign() == 1);
  CHECK((numerics::Interval(0x1p-1074) * numerics::Interval(0x1p-1074)).low() <= 0);
  CHECK((numerics::Interval(0x1p-1074) * numerics::Interval(0x1p-1074)).high() >= 0x1p-1074);
  CHECK((numerics::Interval(0.1) - numerics::Interval(0.1)).sign() == 0);
  CHECK((numerics::Interval(0.1, 0.2) - numerics::Interval(0.1, 0.2)).sign() == numerics::Interval::undecided);
  CHECK(numerics::Interval::difference(3.0, 3.0).sign() == 0);
  CHECK((numerics::Interval(0.1) * numerics::Interval(0.0)).sign() == 0);
}
