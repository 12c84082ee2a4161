#include "meniscus/numerics/incomplete_cholesky.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meniscus::numerics {

void IncompleteCholesky::factor(const Matrix& a, const Options& options) {
  require(a.rows() == a.cols(), "the matrix must be square, not ", a.rows(), " x ", a.cols());
  lower_ = a.triangularView<Eigen::Lower>();
  lower_.makeCompressed();
  const Index n = a.rows();
  inverse_diagonal_.assign(n, 0.0);
  // Right-looking, one column of L at a time; with sorted rows, the entries below the diagonal in column k are the entries above
  // it in row k of the symmetric matrix. `pivot` collects what is left of the diagonals.
  std::vector<double> pivot(n);
  for (Index i = 0; i < n; ++i) {
    pivot[i] = a.coeff(i, i);
    require(pivot[i] > 0, "diagonal entry ", i, " must be positive, not ", pivot[i]);
  }
  const Index* outer = lower_.outerIndexPtr();
  const Index* inner = lower_.innerIndexPtr();
  double* value = lower_.valuePtr();
  const auto entry = [&](Index row, Index column) -> double* {
    const Index* begin = inner + outer[row];
    const Index* end = inner + outer[row + 1];
    const Index* found = std::lower_bound(begin, end, column);
    return found != end && *found == column ? value + (found - inner) : nullptr;
  };
  std::vector<std::pair<Index, double>> column;
  for (Index k = 0; k < n; ++k) {
    if (k % 4096 == 0) check_interrupt();
    double d = pivot[k];
    const double original = a.coeff(k, k);
    if (d < options.safety * original) d = original;
    const double root = std::sqrt(d);
    inverse_diagonal_[k] = 1 / root;
    *entry(k, k) = root;
    column.clear();
    for (Matrix::InnerIterator it(a, k); it; ++it)
      if (it.col() > k)
        if (double* l = entry(it.col(), k)) {
          *l /= root;
          column.emplace_back(it.col(), *l);
        }
    for (const auto& [i, l] : column)
      for (const auto& [j, m] : column) {
        if (j == i) {
          pivot[i] -= l * m;
        } else if (double* existing = j < i ? entry(i, j) : entry(j, i)) {
          if (j < i) *existing -= l * m;
        } else {
          pivot[i] -= options.modification * l * m;
        }
      }
  }
}

void IncompleteCholesky::solve(const double* r, double* z) const {
  const Index n = lower_.rows();
  const Index* outer = lower_.outerIndexPtr();
  const Index* inner = lower_.innerIndexPtr();
  const double* value = lower_.valuePtr();
  for (Index i = 0; i < n; ++i) {
    double sum = r[i];
    const Index last = outer[i + 1] - 1;  // the diagonal
    for (Index e = outer[i]; e < last; ++e) sum -= value[e] * z[inner[e]];
    z[i] = sum * inverse_diagonal_[i];
  }
  for (Index i = n - 1; i >= 0; --i) {
    z[i] *= inverse_diagonal_[i];
    const Index last = outer[i + 1] - 1;
    for (Index e = outer[i]; e < last; ++e) z[inner[e]] -= value[e] * z[i];
  }
}

}  // namespace meniscus::numerics
