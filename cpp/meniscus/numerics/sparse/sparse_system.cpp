#include "meniscus/numerics/sparse/sparse_system.hpp"

#include "meniscus/numerics/block_vectors.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"

#include <chrono>

namespace meniscus::numerics {
namespace {

static_assert(LinearSystem<SparseSystem>);

}  // namespace

void SparseSystem::prepare(const AlgebraicMultigridOptions& options) {
  multigrid_.build(matrix, options);
  for (Vector* v : {&b, &x, &r_, &p_, &q_, &z_}) v->resize(matrix.rows());
}

void SparseSystem::solve(const SolveOptions& options, bool start_is_zero, SolveInfo& info) {
  const auto start = std::chrono::steady_clock::now();
  project(b);
  if (start_is_zero) combine(0.0, b, 0.0, x);
  conjugate_gradients(*this, ConjugateGradientVectors<SparseSystem>{x, b, r_, p_, q_, z_}, options, start_is_zero, info);
  project(x);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void SparseSystem::region_residuals(std::vector<double>& norms) {
  residual(x, b, r_);
  const double whole = std::sqrt(inner_product(b, b));
  norms.resize(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const double* const first = r_.data() + regions[i].begin;
    const double norm = std::sqrt(numerics::inner_product(first, first, regions[i].end - regions[i].begin));
    norms[i] = whole > 0 ? norm / whole : 0.0;
  }
}

void SparseSystem::multiply(const Vector& p, Vector& q) const {
  for_rows(matrix.rows(), [&](Index i) { q[i] = row_product(matrix, i, p.data()); });
}

double SparseSystem::residual(const Vector& from, const Vector& right, Vector& r) const {
  for_rows(matrix.rows(), [&](Index i) { r[i] = right[i] - row_product(matrix, i, from.data()); });
  return inner_product(r, r);
}

void SparseSystem::project(Vector& v) const {
  for (const SparseRegion& region : regions) {
    if (!region.closed) continue;
    const double sum = parallel_reduce(
        region.begin, region.end, Index{1} << 14, 0.0,
        [&](Index begin, Index end) {
          double part = 0;
          for (Index i = begin; i < end; ++i) part += v[i];
          return part;
        },
        [](double a, double c) { return a + c; });
    const double mean = sum / static_cast<double>(region.end - region.begin);
    parallel_for(region.begin, region.end, Index{1} << 14, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) v[i] -= mean;
    });
  }
}

double SparseSystem::inner_product(const Vector& u, const Vector& v) const {
  return numerics::inner_product(u.data(), v.data(), matrix.rows());
}

void SparseSystem::combine(double alpha, const Vector& u, double beta, Vector& v) const {
  numerics::combine(alpha, u.data(), beta, v.data(), matrix.rows());
}

Index SparseSystem::bytes() const {
  Index sum = matrix.bytes() + multigrid_.bytes() + static_cast<Index>(regions.capacity() * sizeof(SparseRegion));
  for (const Vector* v : {&b, &x, &r_, &p_, &q_, &z_}) sum += static_cast<Index>(v->capacity() * sizeof(double));
  return sum;
}

}  // namespace meniscus::numerics
