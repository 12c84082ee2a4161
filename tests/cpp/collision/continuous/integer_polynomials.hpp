/// Polynomials of degree 3 or less with integer coefficients, and their roots as exact times.
#pragma once

#include <gmpxx.h>

#include <array>
#include <optional>
#include <vector>

namespace meniscus::oracle {

using Integer = mpz_class;

/// A polynomial of degree 3 or less with integer coefficients, constant first; the last of `size` ones is not zero.
struct Polynomial {
  std::array<Integer, 4> c;
  int size = 0;

  Integer& operator[](int i) { return c[i]; }
  const Integer& operator[](int i) const { return c[i]; }
  void trim() {
    while (size > 0 && (*this)[size - 1] == 0) --size;
  }
};

/// A real root of a polynomial without multiple roots: m / 2^k itself, or the only root within ]m / 2^k, (m + 1) / 2^k[.
class Time {
 public:
  Time(Polynomial polynomial, Integer m, int k, bool exact);

  /// The sign of a polynomial of degree 2 or less at this time.
  int sign_of(const Polynomial& p);
  /// The sign of this time minus another one, or a rational number.
  int order(Time& other);
  int order(const mpq_class& x);
  /// The largest integer that is not above this time times 2^20.
  long floor20();
  /// A time with a finite binary expansion between this one and a later one.
  Time between(Time& later);

 private:
  void halve();
  std::optional<int> sign_on_bracket(const Polynomial& p) const;
  bool is_root_of(const Polynomial& divisor) const;

  Polynomial polynomial_;
  Integer m_;
  int k_;
  bool exact_;
  int sign_below_ = 0;
};

Integer shifted(const Integer& x, int bits);
/// Divides by the common factor of the coefficients.
void make_primitive(Polynomial& p);
/// p + factor q for factor 1 or -1.
Polynomial sum(const Polynomial& p, const Polynomial& q, int factor);
Polynomial product(const Polynomial& p, const Polynomial& q);
Polynomial derivative(const Polynomial& p);
/// p / q up to a positive factor, where q divides p over the rationals.
Polynomial quotient(Polynomial p, const Polynomial& q);
Polynomial common_divisor(Polynomial p, Polynomial q);
/// A positive multiple of p(m / 2^k).
Integer value(const Polynomial& p, const Integer& m, int k);
Polynomial linear(const Integer& constant, const Integer& slope);
Time instant(int t);
/// The roots in ]0, 1[ of a polynomial without multiple roots, isolated by its Sturm sequence.
void add_roots_within(const Polynomial& p, std::vector<Time>& out);

/// Calls f(factor without multiple roots, multiplicity) (Yun's algorithm).
template <class F>
void for_squarefree_factors(const Polynomial& p, F&& f) {
  Polynomial common = common_divisor(p, derivative(p));
  Polynomial simple = quotient(p, common);
  for (int multiplicity = 1; simple.size > 1; ++multiplicity) {
    Polynomial more = common_divisor(simple, common);
    const Polynomial factor = quotient(simple, more);
    if (factor.size > 1) f(factor, multiplicity);
    common = quotient(common, more);
    simple = std::move(more);
  }
}

}  // namespace meniscus::oracle
