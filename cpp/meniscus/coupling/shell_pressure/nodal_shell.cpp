#include "meniscus/coupling/shell_pressure/nodal_shell.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/block_vectors.hpp"

#include <Eigen/Cholesky>

namespace meniscus::coupling {

NodalShell::NodalShell(std::span<const double> masses, std::vector<std::shared_ptr<solids::Force>> forces, double stiffness,
                       double damping, NodalMatrix matrix, std::span<const std::int32_t> held,
                       std::span<const solids::Block3> projections)
    : masses_(masses.begin(), masses.end()),
      forces_(std::move(forces)),
      stiffness_(stiffness),
      damping_(damping),
      matrix_(std::move(matrix)),
      held_(held.begin(), held.end()),
      projections_(projections.begin(), projections.end()) {
  static_assert(numerics::LinearSystem<NodalShell>);
  const Index n = nodes();
  for (std::size_t i = 0; i < masses_.size(); ++i)
    require(masses_[i] > 0, "the mass of node ", i, " of a shell must be above zero, not ", masses_[i]);
  require(stiffness >= 0 && damping >= 0, "the factors of stiffness and damping must not be negative");
  for (const auto& force : forces_)
    require(force->nodes() <= n, "a force acts on node ", force->nodes() - 1, ", but the shell has ", n, " nodes");
  require(held_.size() == projections_.size(), "there must be one projection per held node");
  for (const std::int32_t i : held_) require(i >= 0 && i < n, "node ", i, " is held, but the shell has ", n, " nodes");
  if (!matrix_.empty()) {
    require(matrix_.row_begin.size() == static_cast<std::size_t>(3 * n + 1), "the matrix of a shell must have ", 3 * n, " rows");
    for (const std::int32_t c : matrix_.columns) require(c >= 0 && c < 3 * n, "the matrix of a shell has a column ", c);
  }
  for (std::size_t i = 0; i < masses_.size(); ++i)
    if (!std::isfinite(masses_[i])) {
      held_.push_back(static_cast<std::int32_t>(i));
      projections_.push_back(solids::Block3::Zero());
      masses_[i] = 1;
    }
  for (Block<double>* v : {&x_, &b_, &r_, &p_, &q_, &z_}) {
    *v = Block<double>(3 * n);
    std::fill(v->begin(), v->end(), 0.0);
  }
  blocks_.resize(masses_.size());
  info_.history.reserve(static_cast<std::size_t>(options_.max_iterations) + 32);
  prepare_blocks();
}

void NodalShell::attach(std::span<const SheetSide> sides, Index first) {
  sides_.clear();
  for (SheetSide side : sides) {
    if (side.nodes[0] < first || side.nodes[0] >= first + nodes() || side.mass == 0) continue;
    for (std::int32_t& node : side.nodes) node -= static_cast<std::int32_t>(first);
    sides_.push_back(side);
  }
  prepare_blocks();
  factor();
}

void NodalShell::couple(std::span<const std::int32_t> elements, int corners) {
  require(corners > 0, "an element has at least one corner");
  for (const std::int32_t i : elements)
    require(i >= 0 && i < nodes(), "an element has node ", i, ", but the shell has ", nodes());
  own_entries_.clear();
  assembled_ = false;
  if (matrix_.empty()) {
    const auto rows = nodes_within_two_elements(elements, corners, nodes());
    probe_entries(rows, [this](std::span<const mesh::Point> v, std::span<mesh::Point> f) { multiply(v, f); }, own_entries_);
  } else {
    // The given matrix is known; forces beside it are probed.
    for (std::size_t row = 0; row + 1 < matrix_.row_begin.size(); ++row)
      for (Index e = matrix_.row_begin[row]; e < matrix_.row_begin[row + 1]; ++e)
        own_entries_.emplace_back(static_cast<int>(row), matrix_.columns[e], matrix_.values[e]);
    for (std::size_t i = 0; i < masses_.size(); ++i)
      for (int k = 0; k < 3; ++k) own_entries_.emplace_back(3 * static_cast<int>(i) + k, 3 * static_cast<int>(i) + k, masses_[i]);
  }
  coupled_ = true;
  assemble();
  factor();
}

void NodalShell::assemble() {
  const Index n = 3 * nodes();
  own_.resize(n, n);
  own_.setFromTriplets(own_entries_.begin(), own_entries_.end());
  // A vector without any pattern tells whether an entry is missing.
  double* const v = p_.data();
  for (Index i = 0; i < n; ++i)
    v[i] = std::sin(1.0 + 7.3 * static_cast<double>(i) + 0.01 * static_cast<double>(i % 101) * static_cast<double>(i));
  multiply(std::span<const mesh::Point>(points(p_)), points(q_));
  const Eigen::Map<const Eigen::VectorXd> from(p_.data(), n), wanted(q_.data(), n);
  const Eigen::VectorXd found = own_ * from;
  assembled_ = (found - wanted).norm() <= 1e-12 * wanted.norm();
}

void NodalShell::factor() {
  factored_ = false;
  if (!coupled_) return;
  entries_ = own_entries_;
  for (const SheetSide& side : sides_)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t l = 0; l < 3; ++l)
        if (const double value = side.mass * side.weights[k] * side.weights[l]; value != 0)
          entries_.emplace_back(3 * side.nodes[k] + side.axis, 3 * side.nodes[l] + side.axis, value);
  // What is held along an axis has ones in place of its rows and columns; other directions are left to the iteration.
  std::vector<std::uint8_t> still(3 * nodes(), 0);
  for (std::size_t k = 0; k < held_.size(); ++k)
    for (Index axis = 0; axis < 3; ++axis) still[3 * held_[k] + axis] = projections_[k].col(axis).cwiseAbs().maxCoeff() == 0;
  std::erase_if(entries_, [&](const auto& e) { return still[e.row()] || still[e.col()]; });
  for (std::size_t i = 0; i < still.size(); ++i)
    if (still[i]) entries_.emplace_back(static_cast<int>(i), static_cast<int>(i), 1.0);
  const auto n = static_cast<int>(still.size());
  whole_.resize(n, n);
  whole_.setFromTriplets(entries_.begin(), entries_.end());
  cholesky_.compute(whole_);
  factored_ = cholesky_.info() == Eigen::Success;
}

void NodalShell::prepare_blocks() {
  for (solids::Block3& block : blocks_) block.setZero();
  for (const auto& force : forces_) force->add_diagonal(-stiffness_, -damping_, blocks_);
  for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].diagonal().array() += masses_[i];
  for (const SheetSide& side : sides_)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t l = 0; l < 3; ++l)
        if (side.nodes[k] == side.nodes[l])
          blocks_[side.nodes[k]](side.axis, side.axis) += side.mass * side.weights[k] * side.weights[l];
  if (!matrix_.empty())
    for (std::size_t row = 0; row + 1 < matrix_.row_begin.size(); ++row)
      for (Index e = matrix_.row_begin[row]; e < matrix_.row_begin[row + 1]; ++e) {
        const auto at = static_cast<std::size_t>(e);
        const auto column = static_cast<std::size_t>(matrix_.columns[at]);
        if (column / 3 == row / 3)
          blocks_[row / 3](static_cast<Index>(row % 3), static_cast<Index>(column % 3)) += matrix_.values[at];
      }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Eigen::LLT<solids::Block3> factor(blocks_[i]);
    if (factor.info() == Eigen::Success) {
      const solids::Block3 inverse = factor.solve(solids::Block3::Identity());
      blocks_[i] = 0.5 * (inverse + inverse.transpose());
    } else {
      blocks_[i] = solids::Block3::Identity() / masses_[i];
    }
  }
}

void NodalShell::project(std::span<mesh::Point> v) const {
  for (std::size_t k = 0; k < held_.size(); ++k) {
    mesh::Point& u = v[held_[k]];
    u = (projections_[k] * u).eval();
  }
}

void NodalShell::multiply(std::span<const mesh::Point> v, std::span<mesh::Point> f) const {
  if (assembled_) {
    Eigen::Map<Eigen::VectorXd>(f.data()->data(), 3 * nodes()).noalias() =
        own_ * Eigen::Map<const Eigen::VectorXd>(v.data()->data(), 3 * nodes());
    return;
  }
  for (std::size_t i = 0; i < masses_.size(); ++i) f[i] = masses_[i] * v[i];
  for (const auto& force : forces_) force->add_tangent(v, -stiffness_, -damping_, f);
  if (!matrix_.empty()) {
    const double* from = v.data()->data();
    double* to = f.data()->data();
    for (std::size_t row = 0; row + 1 < matrix_.row_begin.size(); ++row)
      for (Index e = matrix_.row_begin[row]; e < matrix_.row_begin[row + 1]; ++e)
        to[row] += matrix_.values[e] * from[matrix_.columns[e]];
  }
}

void NodalShell::multiply(Vector& p, Vector& q) {
  const std::span<mesh::Point> v = points(p), f = points(q);
  project(v);
  multiply(std::span<const mesh::Point>(v), f);
  for (const SheetSide& side : sides_) side.add_impulse(side.mass * side.velocity(v), f);
  project(f);
}

void NodalShell::precondition(const Vector& r, Correction& z) {
  const auto from = points(r);
  const auto to = points(z);
  if (factored_) {
    const Eigen::Map<const Eigen::VectorXd> right(r.data(), r.size());
    Eigen::Map<Eigen::VectorXd>(z.data(), z.size()) = cholesky_.solve(right);
    project(to);
    return;
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) to[i] = blocks_[i] * from[i];
  // Symmetric, because residuals are projected.
  project(to);
}

double NodalShell::inner_product(const Vector& u, const Vector& v) const { return numerics::inner_product(u, v); }
void NodalShell::combine(double a, const Vector& x, double b, Vector& y) const { numerics::combine(a, x, b, y); }

int NodalShell::respond(std::span<const mesh::Point> f, std::span<mesh::Point> v) {
  const auto b = points(b_);
  std::copy(f.begin(), f.end(), b.begin());
  project(b);
  // From zero, so that nothing depends on earlier calls.
  std::fill(x_.begin(), x_.end(), 0.0);
  numerics::conjugate_gradients<NodalShell>(*this, {x_, b_, r_, p_, q_, z_}, options_, true, info_);
  largest_residual_ = std::max(largest_residual_, info_.residual);
  const auto x = points(x_);
  std::copy(x.begin(), x.end(), v.begin());
  return info_.iterations;
}

}  // namespace meniscus::coupling
