#include "simplex_oracle.hpp"

#include "integer_polynomials.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace meniscus::oracle {
namespace {

/// A row per coordinate, one for the time, one for the weights of each simplex; a column per vertex, and the right-hand side.
using Row = std::array<Integer, 7>;
using System = std::array<Row, 6>;

System system_of(const collision::SimplexPair& pair) {
  int low = 2000;
  for (int j = 0; j < pair.count; ++j)
    for (int d = 0; d < pair.dimension; ++d) {
      const double x = pair.vertex[j][d];
      if (x != 0) low = std::min(low, std::max(std::ilogb(x) - 52, -1074));
    }
  System a;
  const auto rows = static_cast<std::size_t>(pair.dimension);
  for (std::size_t j = 0; j < static_cast<std::size_t>(pair.count); ++j) {
    const bool second = pair.second >> j & 1;
    for (std::size_t d = 0; d < rows; ++d) {
      int exponent = 0;
      const double fraction = std::frexp(pair.vertex[j][static_cast<int>(d)], &exponent);
      Integer x(std::ldexp(fraction, 53));
      if (x != 0) {
        const int shift = exponent - 53 - low;
        x = shift >= 0 ? shifted(x, shift) : Integer(x >> static_cast<mp_bitcnt_t>(-shift));
      }
      a[d][j] = second ? Integer(-x) : x;
    }
    a[rows][j] = static_cast<int>(pair.at_end >> j & 1) * (second ? -1 : 1);
    a[rows + (second ? 2 : 1)][j] = 1;
  }
  a[rows + 1][6] = a[rows + 2][6] = 1;
  return a;
}

enum class Solution : std::int8_t { none, unique, many };

/// Gauss-Jordan elimination without division for the columns of a set; `sign[j]` is the sign of weight j.
Solution solve(System a, unsigned set, std::size_t rows, std::array<int, 6>& sign) {
  std::size_t rank = 0;
  std::array<std::size_t, 6> column{};
  for (std::size_t j = 0; j < 6; ++j) {
    if (!(set >> j & 1)) continue;
    std::size_t pivot = rank;
    while (pivot < rows && a[pivot][j] == 0) ++pivot;
    if (pivot == rows) return Solution::many;
    std::swap(a[rank], a[pivot]);
    if (a[rank][j] < 0)
      for (Integer& x : a[rank]) x = -x;
    for (std::size_t i = 0; i < rows; ++i) {
      if (i == rank || a[i][j] == 0) continue;
      const Integer factor = a[i][j];
      const Integer scale = a[rank][j];
      for (std::size_t k = 0; k < 7; ++k) a[i][k] = a[i][k] * scale - factor * a[rank][k];
    }
    column[rank++] = j;
  }
  for (std::size_t i = rank; i < rows; ++i)
    if (a[i][6] != 0) return Solution::none;
  for (std::size_t i = 0; i < rank; ++i) sign[column[i]] = sgn(a[i][6]);
  return Solution::unique;
}

/// Whether the boxes around the simplices are apart.
bool boxes_apart(const collision::SimplexPair& pair) {
  for (int d = 0; d < pair.dimension; ++d) {
    std::array<double, 2> least{HUGE_VAL, HUGE_VAL};
    std::array<double, 2> most{-HUGE_VAL, -HUGE_VAL};
    for (std::size_t j = 0; j < static_cast<std::size_t>(pair.count); ++j) {
      const std::size_t s = pair.second >> j & 1;
      least[s] = std::min(least[s], pair.vertex[j][d]);
      most[s] = std::max(most[s], pair.vertex[j][d]);
    }
    if (most[0] < least[1] || most[1] < least[0]) return true;
  }
  return false;
}

}  // namespace

bool simplices_meet(const collision::SimplexPair& pair) {
  if (boxes_apart(pair)) return false;
  const System a = system_of(pair);
  const auto rows = static_cast<std::size_t>(pair.dimension) + 3;
  const unsigned all = (1U << pair.count) - 1;
  std::array<int, 6> sign{};
  const auto no_negative = [&](unsigned set) {
    for (unsigned j = 0; j < 6; ++j)
      if (set >> j & 1 && sign[j] < 0) return false;
    return true;
  };
  const Solution whole = solve(a, all, rows, sign);
  if (whole == Solution::unique) return no_negative(all);
  if (whole == Solution::none) return false;
  for (unsigned set = 1; set < all; ++set)
    if ((set & pair.second) && (set & ~pair.second) && solve(a, set, rows, sign) == Solution::unique && no_negative(set))
      return true;
  return false;
}

}  // namespace meniscus::oracle
