#include "meniscus/collision/contact/zones/constraint_projection.hpp"

#include "meniscus/core/cancellation.hpp"

#include <Eigen/QR>
#include <Eigen/SparseCholesky>

#include <array>
#include <cmath>
#include <limits>

namespace meniscus::collision {
namespace {

/// Relative to the largest displacement: where iterations end.
constexpr double solve_tolerance = 1e-13;
/// Iterations without and with a factor. Contradictory constraints (paths that are given pinch a zone) never converge.
constexpr Index plain_iterations = 300;
constexpr Index factored_iterations = 200;
/// Added to the diagonal of the matrix that is factored, relative to its own diagonal: the first that is enough.
constexpr std::array regularisations{1e-6, 1e-10};
/// Systems of at most so many contacts and nodes are solved by a dense factor with orthogonal columns where iterations fail.
constexpr Index most_dense = 256;
/// Columns that differ from a sum of others by less than this part of their length count as dependent.
constexpr double dense_cutoff = 1e-12;
/// Solves with one factor.
constexpr int refinements = 3;

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
    const bool regular = !(diagonal_.array() <= 0).any();
    // Its columns are those of nodes that move on their own.
    const bool single = !s_.nodes.joint();
    if (!met() && regular && single && m_ <= most_dense && static_cast<Index>(s_.free.size()) <= most_dense) solve_densely();
    if (!met() && regular) {
      const bool many = m_ > 3 * static_cast<Index>(s_.free.size());
      const Sparse c = many ? constraints() : Sparse();
      for (const double e : regularisations) {
        check_interrupt();
        const Eigen::SimplicialLDLT<Sparse> factor(many ? matrix_of_nodes(c, e) : matrix(e));
        if (factor.info() != Eigen::Success) break;
        // Again from the displacements that were found, whose remaining normal displacements have all their digits.
        double before = std::numeric_limits<double>::infinity();
        for (int again = 0; again < refinements && !met() && largest_remaining() < 0.5 * before; ++again) {
          before = largest_remaining();
          keep();
          info.iterations += solve(factored_iterations, [&](const Vector& r, Vector& z) {
            if (!many) {
              z = factor.solve(r);
              return;
            }
            z = r.cwiseQuotient(diagonal_);
            const Vector y = factor.solve(c.transpose() * z);
            z = (z - (c * y).cwiseQuotient(diagonal_)) / e;
          });
          // Constraints that nearly contradict each other may make it worse.
          if (!(largest_remaining() <= before)) restore();
        }
        if (met()) break;
      }
    }
    info.met = met();
    return info;
  }

 private:
  static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }
  const ContactRow& row(Index i) const { return s_.row(i); }

  Vector remaining() const {
    Vector r(m_);
    for (Index i = 0; i < m_; ++i) r[i] = -row(i).relative_normal(u_);
    return r;
  }
  double largest_remaining() const { return m_ == 0 ? 0.0 : remaining().cwiseAbs().maxCoeff(); }
  bool met() const { return largest_remaining() <= constraint_tolerance * scale_; }

  void keep() {
    kept_.clear();
    for (const std::int32_t n : s_.free) kept_.push_back(u_[index(n)]);
  }
  void restore() {
    for (std::size_t k = 0; k < kept_.size(); ++k) u_[index(s_.free[k])] = kept_[k];
  }

  /// By orthogonal columns that span M^-1/2 C^T, however nearly dependent its own are.
  void solve_densely() {
    const Sparse c = constraints();
    const Vector roots = diagonal_.cwiseSqrt().cwiseInverse();
    Vector halves(c.cols()), y(c.cols());
    for (Index k = 0; k < c.cols(); ++k) {
      const std::int32_t node = s_.free[k / 3];
      halves[k] = std::sqrt(s_.nodes.inverse_mass(node));
      y[k] = u_[index(node)][k % 3] / halves[k];
    }
    const Eigen::MatrixXd columns = halves.asDiagonal() * Eigen::MatrixXd(c.transpose()) * roots.asDiagonal();
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
    qr.setThreshold(dense_cutoff);
    qr.compute(columns);
    Vector parts = qr.householderQ().transpose() * y;
    parts.tail(parts.size() - qr.rank()).setZero();
    const Vector taken = qr.householderQ() * parts;
    keep();
    const double before = largest_remaining();
    for (Index k = 0; k < c.cols(); ++k) u_[index(s_.free[k / 3])][k % 3] -= halves[k] * taken[k];
    if (!(largest_remaining() <= before)) restore();
  }

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

  /// C, with three columns for each free node.
  Sparse constraints() const {
    std::vector<Eigen::Triplet<double>> entries;
    for (Index i = 0; i < m_; ++i)
      for (std::size_t k = 0; k < row(i).size(); ++k) {
        const std::int32_t node = row(i).node(k);
        if (!(s_.nodes.inverse_mass(node) > 0)) continue;
        const auto column = 3 * (std::lower_bound(s_.free.begin(), s_.free.end(), node) - s_.free.begin());
        const mesh::Point across = row(i).weight(k) * s_.nodes.free_part(node, row(i).normal());
        for (Index d = 0; d < 3; ++d) entries.emplace_back(static_cast<int>(i), static_cast<int>(column + d), across[d]);
      }
    Sparse c(m_, 3 * static_cast<Index>(s_.free.size()));
    c.setFromTriplets(entries.begin(), entries.end());
    return c;
  }

  /// e M + C^T D^-1 C.
  Sparse matrix_of_nodes(const Sparse& c, double regularisation) const {
    Vector masses(c.cols());
    for (Index k = 0; k < masses.size(); ++k) masses[k] = regularisation / s_.nodes.inverse_mass(s_.free[k / 3]);
    const Sparse scaled = diagonal_.cwiseInverse().asDiagonal() * c;
    return Sparse(c.transpose() * scaled) + Sparse(masses.asDiagonal());
  }

  /// The lower triangle of C M^-1 C^T, regularised.
  Sparse matrix(double regularisation) const {
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
  std::vector<mesh::Point> kept_;
};

}  // namespace

ProjectionInfo project_onto_constraints(const ConstraintSystem& system, std::span<mesh::Point> scratch,
                                        std::span<mesh::Point> u) {
  return Projection(system, scratch, u).run();
}

}  // namespace meniscus::collision
