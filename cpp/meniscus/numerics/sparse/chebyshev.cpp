#include "meniscus/numerics/sparse/chebyshev.hpp"

#include <cmath>

namespace meniscus::numerics {
namespace {}  // namespace

void ChebyshevSmoother::prepare(const CompressedRows& a, const std::vector<double>& scale) {
  a_ = &a;
  inverse_.resize(a.rows());
  step_.resize(a.rows());
  for_rows(a.rows(), [&](Index i) {
    double sum = 0;
    for (Index k = a.start[i]; k < a.start[i + 1]; ++k) sum += std::abs(a.value[k]);
    inverse_[i] = a.value[a.start[i]] > 1e-14 * scale[i] ? 1 / sum : 0.0;
  });
}

void ChebyshevSmoother::from_zero(const double* b, double* x, const ChebyshevOptions& options) {
  const double centre = 0.5 * (1 + options.lower_end);
  for_rows(a_->rows(), [&](Index i) { x[i] = step_[i] = inverse_[i] * b[i] / centre; });
  continue_from(b, x, 1, options);
}

void ChebyshevSmoother::improve(const double* b, double* x, const ChebyshevOptions& options) { continue_from(b, x, 0, options); }

/// The three-term recurrence for the interval [lower_end, 1].
void ChebyshevSmoother::continue_from(const double* b, double* x, int first, const ChebyshevOptions& options) {
  const double centre = 0.5 * (1 + options.lower_end), half_width = 0.5 * (1 - options.lower_end);
  double rho = half_width / centre;
  for (int k = first; k < options.degree; ++k) {
    double keep = 0, gain = 1 / centre;
    if (k > 0) {
      const double next = 1 / (2 * centre / half_width - rho);
      keep = next * rho;
      gain = 2 * next / half_width;
      rho = next;
    }
    for_rows(a_->rows(), [&](Index i) {
      const double correction = gain * inverse_[i] * (b[i] - row_product(*a_, i, x));
      step_[i] = keep == 0 ? correction : keep * step_[i] + correction;
    });
    for_rows(a_->rows(), [&](Index i) { x[i] += step_[i]; });
  }
}

}  // namespace meniscus::numerics
