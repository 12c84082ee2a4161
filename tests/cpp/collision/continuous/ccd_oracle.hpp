/// Oracle of continuous collision detection for large numbers of queries: exact answers in GMP integers.
///
/// The method is that of tests/support/ccd/oracle.py, which explains it: the coplanarity cubic, its roots isolated
/// with Sturm sequences, and at each root the signs that decide whether the elements touch: zeros by common
/// divisors, the others by halving brackets.
#pragma once

#include "integer_polynomials.hpp"

#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <optional>

namespace meniscus::oracle {

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
