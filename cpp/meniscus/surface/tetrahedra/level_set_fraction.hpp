/// Fraction of a tetrahedron below a linear level set.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

namespace meniscus::surface {

/// The share of the volume in which the linear function with these values at the corners is <= 0. In closed form, a sum of terms
/// that are not negative, exact to round-off relative to the smaller of the share and the rest; invariant under order of corners
/// to round-off. Corners of value 0 count as below.
inline double fraction_below(std::array<double, 4> phi) {
  // A network that sorts four values.
  const auto order = [&](std::size_t i, std::size_t j) {
    if (phi[j] < phi[i]) std::swap(phi[i], phi[j]);
  };
  order(0, 1);
  order(2, 3);
  order(0, 2);
  order(1, 3);
  order(1, 2);
  if (phi[3] <= 0) return 1;
  if (phi[0] > 0) return 0;
  // Of the edge from corner i to the higher corner j, the share below; quotients of differences do not overflow.
  const auto share = [&](std::size_t i, std::size_t j) { return phi[i] / (phi[i] - phi[j]); };
  if (phi[1] > 0) return share(0, 1) * share(0, 2) * share(0, 3);
  if (phi[2] <= 0) return 1 - (1 - share(0, 3)) * (1 - share(1, 3)) * (1 - share(2, 3));
  // A prism between two edges, as three tetrahedra.
  const double s02 = share(0, 2), s03 = share(0, 3), s12 = share(1, 2), s13 = share(1, 3);
  return std::min(s12 * s13 + s02 * s03 * (1 - s12) + s03 * s12 * (1 - s13), 1.0);
}

}  // namespace meniscus::surface
