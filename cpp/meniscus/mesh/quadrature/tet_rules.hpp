/// Symmetric quadrature rules of tetrahedra: positive weights, points strictly inside.
///
/// | degree | 1 | 2 | 3 | 4, 5 | 6  | 7  | 8  | 9  | 10 | 11  |
/// |--------|---|---|---|------|----|----|----|----|----|-----|
/// | points | 1 | 4 | 8 | 14   | 24 | 35 | 46 | 61 | 81 | 109 |
///
/// Sizes and degrees are those of Zhang, Cui and Liu. Points come in orbits of the 24 symmetries; weights and coordinates solve
/// the equations of the moments of all polynomials that are invariant under these, to 50 digits by Newton's method. Those of
/// degrees 3, 8, 9 and 11 are one of a family of solutions: of degree 3, the one with equal weights.
///
/// Source: Zhang, Cui and Liu, "A set of symmetric quadrature rules on triangles and tetrahedra", 2009.
#pragma once

#include "meniscus/mesh/quadrature/tet_samples.hpp"

#include <vector>

namespace meniscus::mesh {

struct TetRule {
  int degree = 0;  ///< of the polynomials that it integrates exactly
  std::vector<TetWeights> points;
  /// Their sum is 1.
  std::vector<double> weights;
};

/// All rules, by ascending degree.
std::span<const TetRule> tet_rules();

/// The smallest rule that is exact for polynomials of a degree. Throws InvalidArgument for others than 0 to 11.
const TetRule& tet_rule(int degree);

}  // namespace meniscus::mesh
