#include "meniscus/core/error.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/solids/reduced/sampled_forces.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index candidates_per_round = 1000;
/// Shares at all poses of so many elements at most are stored.
constexpr Index most_candidates = 8000;

/// Non-negative least squares with the columns of `a`, starting from the weights of those before the last one; Lawson and Hanson,
/// "Solving least squares problems", 1974, chapter 23, on the normal equations.
VectorXd nonnegative_weights(const MatrixXd& gram, const VectorXd& right, const VectorXd& start) {
  const Eigen::Index n = gram.rows();
  VectorXd x = VectorXd::Zero(n);
  x.head(start.size()) = start;
  std::vector<char> active(n);
  for (Eigen::Index i = 0; i < n; ++i) active[i] = x[i] > 0;
  for (Eigen::Index round = 0; round < 3 * n; ++round) {
    const VectorXd slope = right - gram * x;
    Eigen::Index best = -1;
    for (Eigen::Index i = 0; i < n; ++i)
      if (!active[i] && slope[i] > 1e-12 * right.cwiseAbs().maxCoeff() && (best < 0 || slope[i] > slope[best])) best = i;
    if (best >= 0) active[best] = 1;
    for (;;) {
      std::vector<Eigen::Index> in;
      for (Eigen::Index i = 0; i < n; ++i)
        if (active[i]) in.push_back(i);
      const auto k = static_cast<Eigen::Index>(in.size());
      MatrixXd g(k, k);
      VectorXd b(k);
      for (Eigen::Index i = 0; i < k; ++i) {
        b[i] = right[in[i]];
        for (Eigen::Index j = 0; j < k; ++j) g(i, j) = gram(in[i], in[j]);
      }
      const VectorXd z = g.ldlt().solve(b);
      double part = 1;
      for (Eigen::Index i = 0; i < k; ++i) {
        const double now = x[in[i]];
        if (z[i] <= 0) part = std::min(part, now > z[i] ? now / (now - z[i]) : 0.0);
      }
      bool removed = false;
      for (Eigen::Index i = 0; i < k; ++i) {
        const auto at = in[i];
        x[at] += part * (z[i] - x[at]);
        if (z[i] <= 0 && x[at] <= 1e-15) {
          x[at] = 0;
          active[at] = 0;
          removed = true;
        }
      }
      if (!removed) break;
    }
    if (best < 0) break;
  }
  return x;
}

}  // namespace

Cubature choose_cubature(const SampledForces& exact, const MatrixXd& poses, double tolerance, Index most, std::uint64_t seed) {
  const Index r = exact.size(), n = exact.samples(), t = poses.cols();
  require(poses.rows() == r && t > 0, "poses must have ", r, " rows");
  // Which elements may be chosen; each pose counts alike, by the size of its forces.
  const Index step = (n + most_candidates - 1) / most_candidates, kept = (n + step - 1) / step;
  MatrixXd columns(r * t, kept), share(r, n);
  VectorXd target(r * t);
  for (Index p = 0; p < t; ++p) {
    exact.shares(poses.col(p), share);
    const VectorXd sum = share.rowwise().sum();
    const double scale = sum.norm() > 0 ? 1 / sum.norm() : 0;
    target.segment(p * r, r) = scale * sum;
    for (Index i = 0; i < kept; ++i) columns.block(p * r, i, r, 1) = scale * share.col(i * step);
  }
  Cubature out;
  std::vector<Index> chosen;
  std::vector<char> taken(kept, 0);
  VectorXd residual = target, weights;
  MatrixXd gram(0, 0), basis(r * t, 0);
  const double size = target.norm();
  out.error = 1;
  while (static_cast<Index>(chosen.size()) < std::min(most, kept) && out.error > tolerance) {
    const CounterRandom random(seed, static_cast<std::uint64_t>(chosen.size()), 0);
    Index best = -1;
    double best_gain = 0;
    const bool all = kept <= candidates_per_round;
    for (Index c = 0; c < std::min(kept, candidates_per_round); ++c) {
      const Index i = all ? c : static_cast<Index>(random.uniform2(static_cast<std::uint32_t>(c))[0] * static_cast<double>(kept));
      if (taken[i]) continue;
      const double norm = columns.col(i).norm();
      const double gain = norm > 0 ? columns.col(i).dot(residual) / norm : 0;
      if (gain > best_gain) best_gain = gain, best = i;
    }
    if (best < 0) {
      if (all || chosen.empty()) break;
      // No candidate of this round helps: any other one keeps the rounds going.
      best = static_cast<Index>(random.uniform2(0xffffffffu)[0] * static_cast<double>(kept));
      if (taken[best]) break;
    }
    taken[best] = 1;
    chosen.push_back(best);
    const auto k = static_cast<Eigen::Index>(chosen.size());
    basis.conservativeResize(Eigen::NoChange, k);
    basis.col(k - 1) = columns.col(best);
    gram.conservativeResize(k, k);
    gram.col(k - 1) = basis.transpose() * basis.col(k - 1);
    gram.row(k - 1) = gram.col(k - 1).transpose();
    weights = nonnegative_weights(gram, basis.transpose() * target, weights);
    residual = target - basis * weights;
    out.error = residual.norm() / size;
  }
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (weights[static_cast<Eigen::Index>(i)] > 0) {
      out.elements.push_back(static_cast<std::int32_t>(chosen[i] * step));
      out.weights.push_back(weights[static_cast<Eigen::Index>(i)]);
    }
  return out;
}

}  // namespace meniscus::solids
