#include "meniscus/numerics/sparse/semidefinite_solver.hpp"

namespace meniscus::numerics {
namespace {

/// A pivot is what n subtractions leave of the diagonal entry.
constexpr double semidefinite_round_off = 1e-13;

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

void SemidefiniteSolver::factor(const CompressedRows& a, const std::vector<double>& scale) {
  const std::size_t n = z(a.rows());
  lower_.assign(n * n, 0.0);
  inverse_pivot_.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    for (Index k = a.start[i]; k < a.start[i + 1]; ++k) lower_[i * n + z(a.column[k])] = a.value[k];
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = lower_.data() + i * n;
    // First the row of L D, then that of L.
    for (std::size_t j = 0; j < i; ++j) {
      const double* const other = lower_.data() + j * n;
      double sum = row[j];
      for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = sum;
    }
    const double diagonal = row[i];
    double pivot = diagonal;
    for (std::size_t j = 0; j < i; ++j) {
      const double scaled = row[j] * inverse_pivot_[j];
      pivot -= scaled * row[j];
      row[j] = scaled;
    }
    inverse_pivot_[i] = pivot > semidefinite_round_off * diagonal && diagonal > 1e-14 * scale[i] ? 1 / pivot : 0.0;
  }
}

void SemidefiniteSolver::solve(const double* b, double* x) const {
  const std::size_t n = inverse_pivot_.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double* const row = lower_.data() + i * n;
    double sum = b[i];
    for (std::size_t j = 0; j < i; ++j) sum -= row[j] * x[j];
    x[i] = sum;
  }
  for (std::size_t i = 0; i < n; ++i) x[i] *= inverse_pivot_[i];
  for (std::size_t i = n; i-- > 0;) {
    const double* const row = lower_.data() + i * n;
    for (std::size_t j = 0; j < i; ++j) x[j] -= row[j] * x[i];
  }
}

}  // namespace meniscus::numerics
