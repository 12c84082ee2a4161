// Tests of exact division of long integers and of expansions.

#include "meniscus/numerics/expansion_number.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace meniscus;

TEST_CASE("exact division of long integers undoes multiplication, and throws where it leaves a remainder") {
  using Z = numerics::FixedInteger<24>;
  std::mt19937_64 random(11);
  const auto number = [&](int bits) {
    Z z(1);
    for (int done = 0; done < bits; done += 30) z = z * Z(1 << 30) + Z(static_cast<std::int64_t>(random() >> 35));
    // Trailing zeros of all lengths, signs, and digits that borrow across limbs.
    if (random() % 3 == 0) z = z * Z::scaled(1.0, -static_cast<int>(random() % 130));
    if (random() % 3 == 0) z = z - Z(1);
    return random() % 2 ? z : -z;
  };
  for (int i = 0; i < 3000; ++i) {
    const Z a = number(static_cast<int>(random() % 500));
    const Z b = number(static_cast<int>(random() % 500));
    if (b.sign() == 0) continue;
    CHECK(exact_quotient(a * b, b) == a);
    if (b.width() > 1) CHECK_THROWS_AS(exact_quotient(a * b + Z(1), b), std::logic_error);
  }
  CHECK(exact_quotient(Z(0), Z(-7)) == Z(0));
  CHECK_THROWS_AS(exact_quotient(Z(3), Z(0)), std::logic_error);
  CHECK_THROWS_AS(exact_quotient(Z(3), Z(7)), std::logic_error);
  CHECK_THROWS_AS(exact_quotient(Z(3), Z(2)), std::logic_error);
}

TEST_CASE("exact division of expansions undoes multiplication, and throws where it leaves a remainder") {
  using Number = numerics::ExpansionNumber<40>;
  std::mt19937_64 random(12);
  const auto number = [&](int terms) {
    Number z;
    for (int i = 0; i < terms; ++i) {
      const double digits = static_cast<double>(static_cast<std::int64_t>(random())) * (random() % 2 ? 1.0 : 0x1p-60);
      z = z + Number::scaled(random() % 3 == 0 ? std::round(digits * 0x1p-58) : digits, static_cast<int>(random() % 120) - 60);
    }
    return z;
  };
  for (int i = 0; i < 3000; ++i) {
    const Number a = number(static_cast<int>(random() % 5));
    const Number b = number(1 + static_cast<int>(random() % 4));
    if (b.sign() == 0) continue;
    CHECK((exact_quotient(a * b, b) - a).sign() == 0);
    CHECK((exact_quotient(a * b * b, b) - a * b).sign() == 0);
  }
  CHECK(exact_quotient(Number(0), Number(-7)).sign() == 0);
  CHECK_THROWS_AS(exact_quotient(Number(3), Number(0)), std::logic_error);
  CHECK_THROWS_AS(exact_quotient(Number(1), Number(3)), std::logic_error);
}
