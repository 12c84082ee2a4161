/// Linear complementarity problems: 0 <= p, 0 <= A p + u, p (A p + u) = 0, by Lemke's method.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 6.4 (resting contacts; their bound A p + u <= c can leave nothing, and
/// is left out); Cottle, Pang and Stone, "The linear complementarity problem", 1992, section 4.4 (Lemke's method, ties broken by
/// the lexicographic rule); Rockafellar, "Monotone operators and the proximal point algorithm", 1976 (problems without a unique
/// solution).
#pragma once

#include "meniscus/core/types.hpp"

#include <span>
#include <vector>

namespace meniscus::solids {

/// Memory of the method.
struct LcpScratch {
  std::vector<double> table, matrix, u, p;
  std::vector<std::int32_t> basis;
};

/// Solves for p (n), with a matrix of n rows in C order, symmetric and positive semidefinite. What the method finds is checked;
/// where it is wrong or none, since the matrix is nearly singular, the problem is solved as a sequence of regular ones. Returns
/// false where that does not end, or `most_pivots` are too few; p is then not changed.
bool solve_lcp(std::span<const double> matrix, std::span<const double> u, std::span<double> p, int most_pivots,
               LcpScratch& scratch);

}  // namespace meniscus::solids
