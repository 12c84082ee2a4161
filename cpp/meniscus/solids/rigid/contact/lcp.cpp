#include "meniscus/solids/rigid/contact/lcp.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// Below this, relative to the largest entry of a column, an entry is taken for rounding errors.
constexpr double small = 1e-11;
/// Of what the sums consist of: errors of a solution.
constexpr double solved = 1e-9;
/// What is added to the diagonal, relative to its largest entry, where the matrix leaves Lemke's method without digits, less
/// where that does not end; and how often it is taken back.
constexpr double added[] = {1e-4, 1e-7};
constexpr int most_corrections = 100;

/// The method itself.
bool pivot_lcp(std::span<const double> matrix, std::span<const double> u, std::span<double> p, int most_pivots,
               LcpScratch& scratch) {
  const std::size_t n = u.size();
  if (std::all_of(u.begin(), u.end(), [](double v) { return v >= 0; })) {
    std::fill(p.begin(), p.end(), 0.0);
    return true;
  }
  // Rows of w - A p - e z0 = u: columns of w (0 .. n), of p (n .. 2 n), of z0 (2 n), and the right-hand side.
  const std::size_t columns = 2 * n + 2, artificial = 2 * n, right = 2 * n + 1;
  scratch.table.assign(n * columns, 0.0);
  scratch.basis.resize(n);
  double* const t = scratch.table.data();
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = t + i * columns;
    row[i] = 1;
    for (std::size_t j = 0; j < n; ++j) row[n + j] = -matrix[i * n + j];
    row[artificial] = -1;
    row[right] = u[i];
    scratch.basis[i] = static_cast<std::int32_t>(i);
  }
  const auto pivot = [&](std::size_t r, std::size_t c) {
    double* const row = t + r * columns;
    const double inverse = 1 / row[c];
    for (std::size_t k = 0; k < columns; ++k) row[k] *= inverse;
    row[c] = 1;
    for (std::size_t i = 0; i < n; ++i) {
      double* const other = t + i * columns;
      const double f = other[c];
      if (i == r || f == 0) continue;
      for (std::size_t k = 0; k < columns; ++k) other[k] -= f * row[k];
      other[c] = 0;
    }
    scratch.basis[r] = static_cast<std::int32_t>(c);
  };
  // The row that the artificial variable enters: the most negative one, the last of equals in the lexicographic order.
  std::size_t leaving = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (u[i] <= u[leaving]) leaving = i;
  std::size_t entering = n + leaving;
  pivot(leaving, artificial);
  for (int step = 0; step < most_pivots; ++step) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(t[i * columns + entering]));
    std::size_t best = n;
    for (std::size_t i = 0; i < n; ++i) {
      const double* const row = t + i * columns;
      if (!(row[entering] > small * largest)) continue;
      if (best == n) {
        best = i;
        continue;
      }
      const double* const other = t + best * columns;
      // The smaller of two rows divided by their entries: by the right-hand side, then by the columns of w.
      const auto less = [&](std::size_t k) { return row[k] * other[entering] - other[k] * row[entering]; };
      double d = less(right);
      for (std::size_t k = 0; d == 0 && k < n; ++k) d = less(k);
      // The artificial variable leaves as soon as it can.
      const bool mine = scratch.basis[i] == static_cast<std::int32_t>(artificial);
      const bool its = scratch.basis[best] == static_cast<std::int32_t>(artificial);
      const bool tie = std::abs(less(right)) <= 1e-14 * std::abs(row[right] * other[entering]);
      if (tie && (mine || its) ? mine : d < 0) best = i;
    }
    if (best == n) return false;
    const auto left = static_cast<std::size_t>(scratch.basis[best]);
    pivot(best, entering);
    if (left == artificial) {
      std::fill(p.begin(), p.end(), 0.0);
      for (std::size_t i = 0; i < n; ++i) {
        const auto b = static_cast<std::size_t>(scratch.basis[i]);
        if (b >= n && b < 2 * n) p[b - n] = std::max(0.0, t[i * columns + right]);
      }
      return true;
    }
    entering = left < n ? n + left : left - n;
  }
  return false;
}

/// Whether p is a solution to within rounding errors.
bool is_solution(std::span<const double> matrix, std::span<const double> u, std::span<const double> p) {
  const std::size_t n = u.size();
  double scale = 0, most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double size = std::abs(u[i]);
    for (std::size_t j = 0; j < n; ++j) size += std::abs(matrix[i * n + j]) * p[j];
    scale = std::max(scale, size);
    most = std::max(most, matrix[i * n + i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    double w = u[i];
    for (std::size_t j = 0; j < n; ++j) w += matrix[i * n + j] * p[j];
    if (!(std::abs(std::min(w, most * p[i])) <= solved * scale)) return false;
  }
  return true;
}

}  // namespace

bool solve_lcp(std::span<const double> matrix, std::span<const double> u, std::span<double> p, int most_pivots,
               LcpScratch& scratch) {
  const std::size_t n = u.size();
  require(matrix.size() == n * n && p.size() == n, "the matrix must have ", n * n, " entries, and p ", n);
  scratch.p.assign(n, 0.0);
  if (pivot_lcp(matrix, u, scratch.p, most_pivots, scratch) && is_solution(matrix, u, scratch.p)) {
    std::copy(scratch.p.begin(), scratch.p.end(), p.begin());
    return true;
  }
  // Of problems with more than one solution: p + d, where d solves that of A + s at u - s p, until s d is nothing.
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, matrix[i * n + i]);
  scratch.u.resize(n);
  for (const double part : added) {
    const double s = part * most;
    scratch.matrix.assign(matrix.begin(), matrix.end());
    for (std::size_t i = 0; i < n; ++i) scratch.matrix[i * n + i] += s;
    scratch.p.assign(n, 0.0);
    for (int k = 0; k < most_corrections; ++k) {
      for (std::size_t i = 0; i < n; ++i) scratch.u[i] = u[i] - s * scratch.p[i];
      if (!pivot_lcp(scratch.matrix, scratch.u, scratch.p, most_pivots, scratch)) break;
      if (!is_solution(matrix, u, scratch.p)) continue;
      std::copy(scratch.p.begin(), scratch.p.end(), p.begin());
      return true;
    }
  }
  return false;
}

}  // namespace meniscus::solids
