#include "meniscus/collision/continuous/simplex_pair.hpp"

#include "meniscus/core/floating_point.hpp"
#include "meniscus/numerics/expansion_number.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::collision {
namespace {

template <class F>
void for_bits(unsigned mask, F&& f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

int sign(double x) { return (x > 0) - (x < 0); }
template <class Z>
int sign(const Z& x) {
  return x.sign();
}

/// The quotient of two integers, 0 <= numerator <= denominator, to 53 bits.
template <class Z>
double fraction(const Z& numerator, const Z& denominator) {
  Z rest = numerator;
  double result = 0;
  double bit = 1;
  for (int i = 0; i < 54; ++i, bit /= 2) {
    const Z after = rest - denominator;
    if (sign(after) >= 0) {
      rest = after;
      result += bit;
    }
    rest = rest + rest;
  }
  return result;
}
double fraction(double numerator, double denominator) { return std::clamp(numerator / denominator, 0.0, 1.0); }

/// Conditions on a vector of weights.
template <class Z>
std::optional<SimplexContact> judge(const SimplexPair& pair, unsigned columns, const std::array<Z, 6>& weights) {
  int turn = 0;
  for (unsigned m = columns; m; m &= m - 1) {
    const int i = std::countr_zero(m);
    const int s = (pair.second >> i & 1 ? -1 : 1) * sign(weights[i]);
    if (s == 0) continue;
    if (turn * s < 0) return SimplexContact{};
    turn = s;
  }
  Z late(0);
  Z all(0);
  for_bits(columns & ~pair.second, [&](int i) {
    const Z& w = weights[i];
    all = turn > 0 ? all + w : all - w;
    if (pair.at_end >> i & 1) late = turn > 0 ? late + w : late - w;
  });
  return SimplexContact{true, fraction(late, all)};
}

/// The coordinates as numbers of one kind, and minors of the matrix. Its rows are the coordinates, then the sums of the weights
/// at the start and at the end.
template <class Z>
class Minors {
 public:
  explicit Minors(const SimplexPair& pair) : pair_(pair) {}

  Z& coordinate(int axis, int column) { return x_[axis][column]; }
  int rows() const { return pair_.dimension + 2; }

  /// The minor of as many rows as columns: the sum over the ways to choose columns for the coordinates, the others being for the
  /// sums, whose entries are 0 and 1.
  Z operator()(unsigned rows, unsigned columns) {
    const unsigned axes = rows & ((1u << pair_.dimension) - 1);
    const unsigned sums = rows >> pair_.dimension;
    const int size = std::popcount(axes);
    Z total(0);
    for (unsigned chosen = columns;; chosen = (chosen - 1) & columns) {
      if (std::popcount(chosen) == size) {
        const int factor = minor_of_sums(sums, columns & ~chosen) * parity(chosen, columns);
        if (factor > 0) total = total + minor_of_coordinates(axes, chosen);
        if (factor < 0) total = total - minor_of_coordinates(axes, chosen);
      }
      if (chosen == 0) return total;
    }
  }

 private:
  const Z& at(int axis, int column) const { return x_[axis][column]; }

  /// The sign of the permutation that moves the chosen columns to the front.
  static int parity(unsigned chosen, unsigned columns) {
    int swaps = 0;
    for_bits(chosen, [&](int i) { swaps += std::popcount(columns & ~chosen & ((1u << i) - 1)); });
    return swaps % 2 ? -1 : 1;
  }

  int minor_of_sums(unsigned sums, unsigned columns) const {
    const auto entry = [&](bool end, unsigned column) { return (pair_.at_end & column ? end : !end) ? 1 : 0; };
    const unsigned low = columns & (~columns + 1);
    if (sums == 0) return 1;
    if (sums != 3) return entry(sums == 2, low);
    const unsigned high = columns & ~low;
    return entry(false, low) * entry(true, high) - entry(false, high) * entry(true, low);
  }

  /// Minors of one choice of coordinates are kept until another is asked for.
  const Z& minor_of_coordinates(unsigned axes, unsigned columns) {
    if (axes != axes_) {
      axes_ = axes;
      known_ = 0;
    }
    Z& value = value_[columns];
    if (known_ >> columns & 1) return value;
    known_ |= std::uint64_t{1} << columns;
    std::array<int, 3> a{};
    std::array<int, 3> c{};
    std::size_t n = 0;
    for_bits(axes, [&](int i) { a[n++] = i; });
    n = 0;
    for_bits(columns, [&](int i) { c[n++] = i; });
    const auto two = [&](int i, int j) { return at(a[0], i) * at(a[1], j) - at(a[0], j) * at(a[1], i); };
    if (n == 0)
      value = Z(1);
    else if (n == 1)
      value = at(a[0], c[0]);
    else if (n == 2)
      value = two(c[0], c[1]);
    else
      value = at(a[2], c[0]) * two(c[1], c[2]) - at(a[2], c[1]) * two(c[0], c[2]) + at(a[2], c[2]) * two(c[0], c[1]);
    return value;
  }

  const SimplexPair& pair_;
  std::array<std::array<Z, 6>, 3> x_{};
  unsigned axes_ = ~0u;
  std::uint64_t known_ = 0;
  std::array<Z, 64> value_;
};

/// Kernels of sets of columns by Cramer's rule.
template <class Z>
class CramerKernel {
 public:
  CramerKernel(const SimplexPair& pair, int low) : pair_(pair), minor_(pair) {
    for (int d = 0; d < pair.dimension; ++d)
      for (int i = 0; i < pair.count; ++i) minor_.coordinate(d, i) = Z::scaled(pair.vertex[i][d], low);
  }

  /// Whether these vertices meet, or nothing if their kernel has several dimensions.
  std::optional<SimplexContact> operator()(unsigned columns) {
    const int size = std::popcount(columns);
    const unsigned all_rows = (1u << minor_.rows()) - 1;
    // A set of rows of rank size - 1 gives the only candidate; it has to satisfy the other rows too.
    for (unsigned rows = all_rows;; rows = (rows - 1) & all_rows) {
      if (std::popcount(rows) == size - 1) {
        std::array<Z, 6> weights;
        bool some = false;
        int turn = 1;
        for_bits(columns, [&](int i) {
          Z& w = weights[i];
          w = minor_(rows, columns & ~(1u << i));
          if (turn < 0) w = -w;
          turn = -turn;
          some = some || w.sign() != 0;
        });
        if (some) {
          bool consistent = true;
          for_bits(all_rows & ~rows, [&](int r) { consistent = consistent && minor_(rows | 1u << r, columns).sign() == 0; });
          return consistent ? judge(pair_, columns, weights) : SimplexContact{};
        }
      }
      if (rows == 0) return std::nullopt;
    }
  }

 private:
  const SimplexPair& pair_;
  Minors<Z> minor_;
};

/// Kernels of sets of columns by fraction-free Gauss-Jordan elimination: every entry stays a minor of the matrix, so that each
/// division by the last pivot but one is exact.
template <class Z>
class EliminationKernel {
 public:
  EliminationKernel(const SimplexPair& pair, int low) : pair_(pair), low_(low) {}

  std::optional<SimplexContact> operator()(unsigned columns) const {
    std::array<int, 6> column{};
    std::size_t n = 0;
    for_bits(columns, [&](int i) { column[n++] = i; });
    const auto m = static_cast<std::size_t>(pair_.dimension + 2);
    // The rows of the sums come first: their pivots are 1 or -1.
    std::array<std::array<Z, 6>, 5> a;
    for (std::size_t j = 0; j < n; ++j) {
      const bool end = pair_.at_end >> column[j] & 1;
      a[0][j] = Z(end ? 0 : 1);
      a[1][j] = Z(end ? 1 : 0);
      for (std::size_t i = 2; i < m; ++i) a[i][j] = Z::scaled(pair_.vertex[column[j]][static_cast<Index>(i - 2)], low_);
    }
    Z last(1);
    std::size_t rank = 0;
    for (; rank < std::min(m, n); ++rank) {
      if (!bring_pivot(a, column, m, n, rank)) break;
      const Z pivot = a[rank][rank];
      for (std::size_t i = 0; i < m; ++i) {
        if (i == rank) continue;
        const Z factor = a[i][rank];
        for (std::size_t j = 0; j < n; ++j)
          if (j >= rank || j == i) a[i][j] = exact_quotient(pivot * a[i][j] - factor * a[rank][j], last);
      }
      last = pivot;
    }
    if (rank + 1 < n) return std::nullopt;
    if (rank == n) return SimplexContact{};
    // The matrix is diagonal up to the last column, which is free; all of the diagonal is the last pivot.
    std::array<Z, 6> weights;
    weights[column[rank]] = last;
    for (std::size_t i = 0; i < rank; ++i) weights[column[i]] = -a[i][rank];
    return judge(pair_, columns, weights);
  }

 private:
  /// Swaps an entry that is not zero to position (k, k).
  static bool bring_pivot(std::array<std::array<Z, 6>, 5>& a, std::array<int, 6>& column, std::size_t m, std::size_t n,
                          std::size_t k) {
    for (std::size_t i = k; i < m; ++i)
      for (std::size_t j = k; j < n; ++j)
        if (a[i][j].sign() != 0) {
          std::swap(a[i], a[k]);
          if (j != k) {
            for (std::size_t r = 0; r < m; ++r) std::swap(a[r][j], a[r][k]);
            std::swap(column[j], column[k]);
          }
          return true;
        }
    return false;
  }

  const SimplexPair& pair_;
  int low_;
};

/// Drops vertices until the kernel has one dimension. A set of them is asked once.
template <class Kernel>
class Recursion {
 public:
  explicit Recursion(Kernel& kernel) : kernel_(kernel) {}

  SimplexContact operator()(unsigned columns) {
    if (std::popcount(columns) < 2 || asked_ >> columns & 1) return {};
    asked_ |= std::uint64_t{1} << columns;
    if (const auto answer = kernel_(columns)) return *answer;
    for (unsigned m = columns; m; m &= m - 1) {
      const SimplexContact found = (*this)(columns & ~(m & (~m + 1)));
      if (found.contact) return found;
    }
    return {};
  }

 private:
  Kernel& kernel_;
  std::uint64_t asked_ = 0;
};

template <class Kernel>
SimplexContact solve(const SimplexPair& pair, int low) {
  Kernel kernel(pair, low);
  return Recursion<Kernel>(kernel)((1u << pair.count) - 1);
}

bool pair_boxes_apart(const SimplexPair& pair) {
  for (int d = 0; d < pair.dimension; ++d) {
    std::array<double, 2> low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    std::array<double, 2> high{-low[0], -low[0]};
    for (int i = 0; i < pair.count; ++i) {
      const double x = pair.vertex[i][d];
      const std::size_t side = pair.second >> i & 1;
      low[side] = std::min(low[side], x);
      high[side] = std::max(high[side], x);
    }
    if (low[0] > high[1] || low[1] > high[0]) return true;
  }
  return false;
}

/// Coordinates of `width` bits have minors of three times as many, and up to five times before the divisions of the elimination.
constexpr int bits_of_minors(int width) { return 3 * width + 12; }
constexpr int bits_of_elimination(int width) { return 5 * width + 20; }
constexpr int widest = 2098;  // bits of the range of doubles

/// One double holds 53 bits, so this is more than numbers within the range of doubles need.
using ExpansionRing = numerics::ExpansionNumber<40>;
/// Products have at most five factors; the rest is room for the quotients on their way.
constexpr int factors_in_expansions = 7;

}  // namespace

std::optional<SimplexContact> intersect_if_certain(const SimplexPair& pair) {
  Minors<double> minor(pair);
  double largest = 0;
  for (int d = 0; d < pair.dimension; ++d)
    for (int i = 0; i < pair.count; ++i) {
      // A translation changes no weight.
      const double x = pair.vertex[i][d] - pair.vertex[0][d];
      minor.coordinate(d, i) = x;
      largest = std::max(largest, std::abs(x));
    }
  if (!(largest > 0 && largest <= std::numeric_limits<double>::max())) return std::nullopt;
  // Beyond this range products may overflow, or what underflows may matter. A power of two changes no sign.
  if (!(largest < 0x1p300 && largest > 0x1p-250)) {
    const double factor = std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
    for (int d = 0; d < pair.dimension; ++d)
      for (int i = 0; i < pair.count; ++i) minor.coordinate(d, i) *= factor;
    largest *= factor;
  }
  // At most ten minors of three coordinates, each a sum of six products of three differences: the round-off of all of it is below
  // 1100 units of 2^-53 of the largest product.
  double error = 0x1p-42;
  for (int d = 0; d < pair.dimension; ++d) error *= largest;
  const unsigned columns = (1u << pair.count) - 1;
  const unsigned rows = (1u << minor.rows()) - 1;
  std::array<double, 6> weights{};
  bool certain = true;
  int turn = 0;
  for (int i = 0; i < pair.count; ++i) {
    double& w = weights[i];
    w = minor(rows, columns & ~(1u << i));
    if (i % 2) w = -w;
    if (!(std::abs(w) > error)) {
      certain = false;
      continue;
    }
    const int s = pair.second >> i & 1 ? -sign(w) : sign(w);
    // Two certain signs that disagree decide, whatever the others are.
    if (turn * s < 0) return SimplexContact{};
    turn = s;
  }
  if (!certain) return std::nullopt;
  return judge(pair, columns, weights);
}

SimplexContact intersect(const SimplexPair& pair, SimplexMethod method) {
  const StandardArithmetic standard;
  if (pair_boxes_apart(pair)) return {};
  if (method == SimplexMethod::cramer)
    if (const auto answer = intersect_if_certain(pair)) return *answer;
  numerics::BitRange range;
  for (int i = 0; i < pair.count; ++i)
    for (int d = 0; d < pair.dimension; ++d) range.add(pair.vertex[i][d]);
  const int low = range.empty() ? 0 : range.low;
  if (method == SimplexMethod::cramer) {
    using Narrow = numerics::FixedInteger<8>;
    using Wide = numerics::FixedInteger<100>;
    static_assert(bits_of_minors(widest) <= Wide::capacity_bits);
    return bits_of_minors(range.width()) <= Narrow::capacity_bits ? solve<CramerKernel<Narrow>>(pair, low)
                                                                  : solve<CramerKernel<Wide>>(pair, low);
  }
  if (method == SimplexMethod::elimination)
    if (const auto shift = numerics::exact_scaling(range, factors_in_expansions))
      return solve<EliminationKernel<ExpansionRing>>(pair, -*shift);
  using Narrow = numerics::FixedInteger<12>;
  using Wide = numerics::FixedInteger<168>;
  static_assert(bits_of_elimination(widest) <= Wide::capacity_bits);
  return bits_of_elimination(range.width()) <= Narrow::capacity_bits ? solve<EliminationKernel<Narrow>>(pair, low)
                                                                     : solve<EliminationKernel<Wide>>(pair, low);
}

}  // namespace meniscus::collision
