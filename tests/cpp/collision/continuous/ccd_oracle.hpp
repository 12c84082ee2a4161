/// Oracle of continuous collision detection for large numbers of queries: exact answers in GMP integers.
///
/// The method is that of tests/support/ccd/oracle.py, which explains it: the coplanarity cubic, its roots isolated
/// with Sturm sequences, and at each root the signs that decide whether the elements touch: zeros by common
/// divisors, the others by halving brackets.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <gmpxx.h>

#include <optional>

namespace meniscus::oracle {

using Integer = mpz_class;

/// A polynomial of degree 3 or less with integer coefficients, constant first; the last of `size` ones is not zero.
struct Polynomial {
  std::array<Integer, 4> c;
  int size = 0;

  Integer& operator[](int i) { return c[static_cast<std::size_t>(i)]; }
  const Integer& operator[](int i) const { return c[static_cast<std::size_t>(i)]; }
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

/// Contacts between two elements within the step.
struct Answer {
  /// Whether there is a contact on the border of the parameters: at the start, at the end, or with the rim of an element.
  bool boundary = false;
  /// Contacts that are not on the border, each counted with its multiplicity.
  int interior = 0;
  /// Distinct times of contact, where they are finitely many.
  int times = 0;
  /// Whether the elements touch during a whole interval of time.
  bool infinite = false;
  /// The first time of contact.
  std::optional<Time> first;

  bool any() const { return first.has_value(); }
  bool parity() const { return boundary || interior % 2 == 1; }
};

using Corners = std::array<mesh::Point, 4>;

Answer solve(collision::PairKind kind, const Corners& start, const Corners& end);

/// Whether two elements at rest touch. The rims belong to them.
bool touches(collision::PairKind kind, const Corners& points);

/// Whether an edge (two points) meets a face (three points). The rims belong to them.
bool edge_meets_face(const std::array<mesh::Point, 5>& points);

}  // namespace meniscus::oracle
