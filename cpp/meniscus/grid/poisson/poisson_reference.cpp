#include "meniscus/grid/poisson/poisson_reference.hpp"

#include "meniscus/numerics/conjugate_gradients.hpp"
#include "meniscus/numerics/incomplete_cholesky.hpp"

namespace meniscus::grid {
namespace {

/// Share of a coupling to another block that is added to the diagonal, as it is done with dropped fill-in: without it, blocks
/// would be corrected as if the solution were zero beyond them. On 8 blocks of boxes, chambers, layers and waves 0.6 takes the
/// fewest iterations.
constexpr double lumped_coupling = 0.6;

/// The system of a PoissonSolver with another preconditioner: the factored couplings of the own cells, in storage order.
template <int D>
class BlockCholeskySystem {
 public:
  using Vector = Block<double>;
  struct Correction {
    Block<double> values;
  };

  explicit BlockCholeskySystem(PoissonSolver<D>& solver) : solver_(solver) {
    const FaceMatrix<double, D>& a = solver.matrix;
    const CellLayout<D>& layout = a.layout;
    std::vector<Index> number(layout.size, -1);
    for (const auto& u : solver.regions().intervals())
      for (Index i = u.index; i < u.index + u.count; ++i) {
        number[i] = static_cast<Index>(cells_.size());
        cells_.push_back(i);
      }
    std::vector<Eigen::Triplet<double, Index>> entries;
    for (const Index i : cells_) {
      const Index row = number[i];
      entries.emplace_back(row, row, a.diagonal[i]);
      for (int d = 0; d < D; ++d)
        for (int side = 0; side < 2; ++side) {
          const Index s = layout.strides[d];
          Index j = side ? i + s : i - s;
          if (!a.active[j]) continue;
          const double w = a.face(d, side ? i + s : i);
          if (number[j] < 0) {
            // A ghost: of another block, or around a periodic axis.
            if (!layout.halo.block().own_neighbour(d)) {
              entries.emplace_back(row, row, -lumped_coupling * w);
              continue;
            }
            j += (side ? -1 : 1) * layout.cells[d] * s;
          }
          if (w != 0) entries.emplace_back(row, number[j], -w);
        }
    }
    const auto n = static_cast<Index>(cells_.size());
    numerics::IncompleteCholesky::Matrix own(n, n);
    own.setFromTriplets(entries.begin(), entries.end());
    factors_.factor(own, {});
    from_.resize(cells_.size());
    to_.resize(cells_.size());
  }

  void multiply(Vector& p, Vector& q) { solver_.multiply(p, q); }
  double multiply_dot(Vector& p, Vector& q) { return solver_.multiply_dot(p, q); }
  double residual(Vector& x, const Vector& b, Vector& r) { return solver_.residual(x, b, r); }
  double reduce_residual(double alpha, const Vector& q, Vector& r) { return solver_.reduce_residual(alpha, q, r); }
  void precondition(const Vector& r, Correction& z) {
    for (std::size_t k = 0; k < cells_.size(); ++k) from_[k] = r[cells_[k]];
    factors_.solve(from_.data(), to_.data());
    for (std::size_t k = 0; k < cells_.size(); ++k) z.values[cells_[k]] = to_[k];
  }
  void project(Vector& v) const { solver_.project(v); }
  double inner_product(const Vector& u, const Vector& v) const { return solver_.inner_product(u, v); }
  double inner_product(const Vector& u, const Correction& z) const { return solver_.inner_product(u, z.values); }
  void combine(double alpha, const Vector& p, double beta, Vector& y) const { solver_.combine(alpha, p, beta, y); }
  void combine(double alpha, const Correction& z, double beta, Vector& y) const { solver_.combine(alpha, z.values, beta, y); }

 private:
  PoissonSolver<D>& solver_;
  std::vector<Index> cells_;  ///< the own unknowns
  numerics::IncompleteCholesky factors_;
  std::vector<double> from_, to_;
};

}  // namespace

template <int D>
void solve_by_incomplete_cholesky(PoissonSolver<D>& solver, Block<double>& r, Block<double>& p, Block<double>& q,
                                  const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info) {
  using System = BlockCholeskySystem<D>;
  System system(solver);
  typename System::Correction z{Block<double>(solver.matrix.layout.size)};
  std::fill(z.values.begin(), z.values.end(), 0.0);
  numerics::conjugate_gradients(system, numerics::ConjugateGradientVectors<System>{solver.x, solver.b, r, p, q, z}, options,
                                start_is_zero, info);
}

#define MENISCUS_INSTANTIATE(D)                                                                                    \
  template void solve_by_incomplete_cholesky<D>(PoissonSolver<D>&, Block<double>&, Block<double>&, Block<double>&, \
                                                const numerics::SolveOptions&, bool, numerics::SolveInfo&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
