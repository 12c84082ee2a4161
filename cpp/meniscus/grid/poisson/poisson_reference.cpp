#include "meniscus/grid/poisson/poisson_reference.hpp"

#include "meniscus/numerics/conjugate_gradients.hpp"
#include "meniscus/numerics/incomplete_cholesky.hpp"

namespace meniscus::grid {
namespace {

/// An assembled system; vectors hold the unknowns alone, in storage order.
template <int D>
class AssembledSystem {
 public:
  using Vector = Eigen::VectorXd;
  struct Correction {
    Eigen::VectorXd values;
  };

  AssembledSystem(const FaceMatrix<double, D>& a, const PoissonRegions<D>& regions) : regions_(regions) {
    const CellLayout<D>& layout = a.layout;
    std::vector<Index> number(static_cast<std::size_t>(layout.size), -1);
    for (const auto& u : regions.intervals())
      for (Index i = u.index; i < u.index + u.count; ++i) {
        number[static_cast<std::size_t>(i)] = static_cast<Index>(cells.size());
        cells.push_back(i);
        region_.push_back(u.region);
      }
    std::vector<Eigen::Triplet<double, Index>> entries;
    for (const Index i : cells) {
      const Index row = number[static_cast<std::size_t>(i)];
      entries.emplace_back(row, row, a.diagonal[i]);
      for (int d = 0; d < D; ++d)
        for (int side = 0; side < 2; ++side) {
          const Index s = layout.strides[static_cast<std::size_t>(d)];
          Index j = side ? i + s : i - s;
          if (!a.active[j]) continue;
          if (number[static_cast<std::size_t>(j)] < 0)  // a ghost beyond a periodic side
            j += (side ? -1 : 1) * layout.cells[static_cast<std::size_t>(d)] * s;
          const double w = a.face(d, side ? i + s : i);
          if (w != 0) entries.emplace_back(row, number[static_cast<std::size_t>(j)], -w);
        }
    }
    const auto n = static_cast<Index>(cells.size());
    matrix_.resize(n, n);
    matrix_.setFromTriplets(entries.begin(), entries.end());
    preconditioner_.factor(matrix_, {});
  }

  void multiply(Vector& p, Vector& q) const { q = matrix_ * p; }
  void precondition(const Vector& r, Correction& z) const { preconditioner_.solve(r.data(), z.values.data()); }
  void project(Vector& v) const {
    std::vector<double> mean(regions_.regions().size(), 0.0);
    for (std::size_t k = 0; k < cells.size(); ++k) mean[static_cast<std::size_t>(region_[k])] += v[static_cast<Eigen::Index>(k)];
    for (std::size_t r = 0; r < mean.size(); ++r)
      mean[r] = regions_.regions()[r].closed ? mean[r] / static_cast<double>(regions_.regions()[r].cells) : 0.0;
    for (std::size_t k = 0; k < cells.size(); ++k) v[static_cast<Eigen::Index>(k)] -= mean[static_cast<std::size_t>(region_[k])];
  }
  double inner_product(const Vector& u, const Vector& v) const { return u.dot(v); }
  double inner_product(const Vector& u, const Correction& z) const { return u.dot(z.values); }
  void combine(double alpha, const Vector& p, double beta, Vector& y) const {
    y = beta == 0 ? Vector(alpha * p) : Vector(alpha * p + beta * y);
  }
  void combine(double alpha, const Correction& z, double beta, Vector& y) const { combine(alpha, z.values, beta, y); }

  std::vector<Index> cells;

 private:
  const PoissonRegions<D>& regions_;
  std::vector<Index> region_;
  numerics::IncompleteCholesky::Matrix matrix_;
  numerics::IncompleteCholesky preconditioner_;
};

}  // namespace

template <int D>
void solve_by_incomplete_cholesky(const FaceMatrix<double, D>& matrix, const PoissonRegions<D>& regions, const Block<double>& b,
                                  Block<double>& x, const numerics::SolveOptions& options, numerics::SolveInfo& info) {
  using System = AssembledSystem<D>;
  System system(matrix, regions);
  const auto n = static_cast<Eigen::Index>(system.cells.size());
  Eigen::VectorXd rhs(n), solution(n), r(n), p(n), q(n);
  typename System::Correction z{Eigen::VectorXd(n)};
  for (Eigen::Index k = 0; k < n; ++k) {
    rhs[k] = b[system.cells[static_cast<std::size_t>(k)]];
    solution[k] = x[system.cells[static_cast<std::size_t>(k)]];
  }
  numerics::conjugate_gradients(system, numerics::ConjugateGradientVectors<System>{solution, rhs, r, p, q, z}, options, false,
                                info);
  for (Eigen::Index k = 0; k < n; ++k) x[system.cells[static_cast<std::size_t>(k)]] = solution[k];
}

#define MENISCUS_INSTANTIATE(D)                                                                                               \
  template void solve_by_incomplete_cholesky<D>(const FaceMatrix<double, D>&, const PoissonRegions<D>&, const Block<double>&, \
                                                Block<double>&, const numerics::SolveOptions&, numerics::SolveInfo&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
