#include "meniscus/collision/contact/constraint_projection.hpp"

#include "meniscus/core/cancellation.hpp"

#include <Eigen/SparseCholesky>

#include <cmath>

namespace meniscus::collision {
namespace {

/// Relative to the largest displacement: where iterations end.
constexpr double solve_tolerance = 1e-13;
/// Iterations without and with a factor. Contradictory constraints (paths that are given pinch a zone) never converge.
constexpr Index plain_iterations = 300;
constexpr Index factored_iterations = 200;
/// Added to the diagonal of the matrix that is factored, relative to its own diagonal.
constexpr double regularisation = 1e-6;

using Sparse = Eigen::SparseMatrix<double>;
using Vector = Eigen::VectorXd;

class Projection {
 public:
  Projection(const ConstraintSystem& system, std::span<mesh::Point> scratch, std::span<mesh::Point> u)
      : s_(system), scratch_(scratch), u_(u), m_(static_cast<Index>(system.size())), diagonal_(m_) {
    for (const std::int32_t n : s_.free) scale_ = std::max(scale_, u_[index(n)].cwiseAbs().maxCoeff());
    const Vector residual = remaining();
    scale_ = std::max(scale_, m_ > 0 ? residual.cwiseAbs().maxCoeff() : 0.0);
    for (Index i = 0; i < m_; ++i) diagonal_[i] = row(i).inverse_mass(s_.nodes);
  }

  ProjectionInfo run() {
    ProjectionInfo info;
    const Index limit = std::min(plain_iterations, 20 + 10 * m_);
    info.iterations = solve(limit, [&](const Vector& r, Vector& z) {
      for (Index i = 0; i < m_; ++i) z[i] = diagonal_[i] > 0 ? r[i] / diagonal_[i] : 0.0;
    });
    if (!met() && !(diagonal_.array() <= 0).any()) {
      check_interrupt();
      const Eigen::SimplicialLDLT<Sparse> factor(matrix());
      if (factor.info() == Eigen::Success)
        info.iterations += solve(factored_iterations, [&](const Vector& r, Vector& z) { z = factor.solve(r); });
    }
    info.met = met();
    return info;
  }

 private:
  static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }
  const ContactRow& row(Index i) const { return s_.row(static_cast<std::size_t>(i)); }

  Vector remaining() const {
    Vector r(m_);
    for (Index i = 0; i < m_; ++i) r[i] = -row(i).relative_normal(u_);
    return r;
  }
  bool met() const { return m_ == 0 || remaining().cwiseAbs().maxCoeff() <= constraint_tolerance * scale_; }

  /// scratch = M^-1 C^T l.
  void spread(const Vector& l) const {
    for (Index i = 0; i < m_; ++i) row(i).apply(s_.nodes, l[i] * row(i).normal(), scratch_);
  }
  void clear() const {
    for (const std::int32_t n : s_.free) scratch_[index(n)].setZero();
  }

  template <class Precondition>
  Index solve(Index limit, Precondition&& precondition) {
    Vector r = remaining(), z(m_), q(m_), x = Vector::Zero(m_);
    precondition(r, z);
    Vector p = z;
    double rz = r.dot(z);
    Index n = 0;
    for (; n < limit && r.cwiseAbs().maxCoeff() > solve_tolerance * scale_ && rz > 0; ++n) {
      spread(p);
      for (Index i = 0; i < m_; ++i) q[i] = row(i).relative_normal(scratch_);
      clear();
      const double pq = p.dot(q);
      if (!(pq > 0)) break;
      const double alpha = rz / pq;
      x += alpha * p;
      r -= alpha * q;
      precondition(r, z);
      const double next = r.dot(z);
      p = z + (next / rz) * p;
      rz = next;
    }
    spread(x);
    for (const std::int32_t k : s_.free) u_[index(k)] += scratch_[index(k)];
    clear();
    return n;
  }

  /// The lower triangle of C M^-1 C^T, regularised.
  Sparse matrix() const {
    struct Use {
      std::int32_t node, row;
      double weight;
    };
    std::vector<Use> uses;
    for (Index i = 0; i < m_; ++i)
      for (std::size_t k = 0; k < row(i).size(); ++k)
        if (s_.nodes.inverse_mass(row(i).node(k)) > 0)
          uses.push_back({row(i).node(k), static_cast<std::int32_t>(i), row(i).weight(k)});
    std::sort(uses.begin(), uses.end(),
              [](const Use& a, const Use& b) { return a.node != b.node ? a.node < b.node : a.row < b.row; });
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t first = 0; first < uses.size();) {
      std::size_t last = first;
      while (last < uses.size() && uses[last].node == uses[first].node) ++last;
      const std::int32_t node = uses[first].node;
      const double w = s_.nodes.inverse_mass(node);
      for (std::size_t a = first; a < last; ++a) {
        const mesh::Point across = s_.nodes.free_part(node, row(uses[a].row).normal());
        for (std::size_t b = first; b <= a; ++b)
          entries.emplace_back(uses[a].row, uses[b].row,
                               uses[a].weight * uses[b].weight * w * across.dot(row(uses[b].row).normal()));
      }
      first = last;
    }
    for (Index i = 0; i < m_; ++i) entries.emplace_back(static_cast<int>(i), static_cast<int>(i), regularisation * diagonal_[i]);
    Sparse a(m_, m_);
    a.setFromTriplets(entries.begin(), entries.end());
    return a;
  }

  const ConstraintSystem& s_;
  std::span<mesh::Point> scratch_, u_;
  Index m_;
  Vector diagonal_;
  double scale_ = 0;
};

}  // namespace

ProjectionInfo project_onto_constraints(const ConstraintSystem& system, std::span<mesh::Point> scratch,
                                        std::span<mesh::Point> u) {
  return Projection(system, scratch, u).run();
}

}  // namespace meniscus::collision
