#include "meniscus/collision/barrier/pair_barrier.hpp"

#include "meniscus/collision/barrier/barrier_function.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <Eigen/Eigenvalues>

namespace meniscus::collision {
namespace {

struct EdgeCross {
  mesh::Point a, b;
  double aa, bb, ab, c;
};

EdgeCross edge_cross(const PairPoints& x) {
  const mesh::Point a = x[1] - x[0], b = x[3] - x[2];
  return {a, b, a.squaredNorm(), b.squaredNorm(), a.dot(b), a.cross(b).squaredNorm()};
}

PairVector cross_gradient(const EdgeCross& e) {
  const mesh::Point by_a = 2 * (e.bb * e.a - e.ab * e.b), by_b = 2 * (e.aa * e.b - e.ab * e.a);
  PairVector g;
  g << -by_a, by_a, -by_b, by_b;
  return g;
}

PairMatrix cross_hessian(const EdgeCross& e) {
  const Eigen::Matrix3d one = Eigen::Matrix3d::Identity();
  const Eigen::Matrix3d aa = 2 * (e.bb * one - e.b * e.b.transpose());
  const Eigen::Matrix3d bb = 2 * (e.aa * one - e.a * e.a.transpose());
  const Eigen::Matrix3d ab = 2 * (2 * e.a * e.b.transpose() - e.ab * one - e.b * e.a.transpose());
  const Eigen::Matrix3d ba = ab.transpose();
  PairMatrix h;
  h << aa, -aa, ab, -ab,  //
      -aa, aa, -ab, ab,   //
      ba, -ba, bb, -bb,   //
      -ba, ba, -bb, bb;
  return h;
}

bool mollified(const PairBarrier& b, const EdgeCross& e) { return e.c < b.threshold; }

/// The Hessian of b(d) without its negative eigenvalues. It lives in five directions: w and the derivatives w' of the weights
/// times the direction of the gap, and w times two directions across it.
PairMatrix definite_hessian(const SquaredDistance& d, const std::array<double, 3>& f) {
  const int m = d.freedom + 1;
  Eigen::Matrix<double, 4, 3> columns = Eigen::Matrix<double, 4, 3>::Zero();
  for (Index i = 0; i < 4; ++i) {
    columns(i, 0) = d.weights[i];
    for (int k = 0; k < d.freedom; ++k) columns(i, k + 1) = d.slopes[k][i];
  }
  // Gram and Schmidt, twice for each column.
  Eigen::Matrix<double, 4, 3> q = columns;
  Eigen::Matrix3d r = Eigen::Matrix3d::Zero();
  for (int k = 0; k < m; ++k) {
    for (int pass = 0; pass < 2; ++pass)
      for (int j = 0; j < k; ++j) {
        const double part = q.col(j).dot(q.col(k));
        q.col(k) -= part * q.col(j);
        r(j, k) += part;
      }
    r(k, k) = q.col(k).norm();
    if (r(k, k) > 0) q.col(k) /= r(k, k);
  }
  const double length = std::sqrt(d.value);
  const mesh::Point up = d.gap / length;
  mesh::Point across = up.cross(mesh::Point::Unit(std::abs(up[0]) < 0.6 ? 0 : (std::abs(up[1]) < 0.6 ? 1 : 2)));
  across.normalize();
  const mesh::Point along = up.cross(across);
  using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 5, 5>;
  Small s = Small::Zero(m + 2, m + 2);
  const double w = r(0, 0);
  s(0, 0) = 2 * f[1] * w * w + 4 * f[2] * d.value * w * w;
  s(m, m) = s(m + 1, m + 1) = 2 * f[1] * w * w;
  std::array<Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 5, 1>, 2> c;
  for (int k = 0; k < d.freedom; ++k) {
    auto& v = c[k];
    v.setZero(m + 2);
    for (int j = 0; j <= k + 1; ++j) v[j] = 2 * length * r(j, k + 1);
    v[m] = 2 * w * d.directions[k].dot(across);
    v[m + 1] = 2 * w * d.directions[k].dot(along);
  }
  for (int k = 0; k < d.freedom; ++k)
    for (int l = 0; l < d.freedom; ++l) s -= f[1] * d.yield(k, l) * (c[k] * c[l].transpose());
  const Eigen::SelfAdjointEigenSolver<Small> eigen(0.5 * (s + s.transpose()));
  PairMatrix h = PairMatrix::Zero();
  for (int e = 0; e < m + 2; ++e) {
    const double value = eigen.eigenvalues()[e];
    if (!(value > 0)) continue;
    const auto v = eigen.eigenvectors().col(e);
    PairVector full;
    for (Index i = 0; i < 4; ++i) {
      double vertical = 0;
      for (int j = 0; j < m; ++j) vertical += q(i, j) * v[j];
      full.segment<3>(3 * i) = vertical * up + q(i, 0) * (v[m] * across + v[m + 1] * along);
    }
    h.noalias() += value * (full * full.transpose());
  }
  return h;
}

/// Symmetric to rounding.
PairMatrix rounded_hessian(const PairBarrier& b, const PairPoints& x, Curvature curvature) {
  const SquaredDistance d = squared_distance(b.kind, x);
  auto f = barrier_function(d.value, b.reach);
  if (f[1] == 0) return PairMatrix::Zero();
  for (double& v : f) v *= b.scale;
  const EdgeCross e = edge_cross(x);
  const bool parallel = b.threshold > 0 && mollified(b, e);
  if (!parallel && curvature == Curvature::definite) return definite_hessian(d, f);
  const PairVector g = gradient(d);
  PairMatrix h = f[1] * hessian(d) + f[2] * (g * g.transpose());
  if (!parallel) return h;
  const auto m = mollifier(e.c, b.threshold);
  const PairVector cg = cross_gradient(e);
  h *= m[0];
  h += (f[1] * m[1]) * (g * cg.transpose() + cg * g.transpose()) + (f[0] * m[2]) * (cg * cg.transpose()) +
       (f[0] * m[1]) * cross_hessian(e);
  return curvature == Curvature::exact ? h : without_negative_eigenvalues(h);
}

}  // namespace

std::array<double, 3> mollifier(double c, double threshold) {
  if (c >= threshold) return {1, 0, 0};
  const double s = c / threshold;
  return {(2 - s) * s, 2 * (1 - s) / threshold, -2 / (threshold * threshold)};
}

double pair_energy(const PairBarrier& b, const PairPoints& x) {
  const double value = b.scale * barrier_function(squared_distance(b.kind, x).value, b.reach)[0];
  if (b.threshold == 0 || value == 0) return value;
  return mollifier(edge_cross(x).c, b.threshold)[0] * value;
}

PairVector pair_gradient(const PairBarrier& b, const PairPoints& x) {
  const SquaredDistance d = squared_distance(b.kind, x);
  const auto f = barrier_function(d.value, b.reach);
  if (f[1] == 0) return PairVector::Zero();
  PairVector g = (b.scale * f[1]) * gradient(d);
  if (b.threshold == 0) return g;
  const EdgeCross e = edge_cross(x);
  if (!mollified(b, e)) return g;
  const auto m = mollifier(e.c, b.threshold);
  return m[0] * g + (b.scale * f[0] * m[1]) * cross_gradient(e);
}

PairMatrix pair_hessian(const PairBarrier& b, const PairPoints& x, Curvature curvature) {
  const PairMatrix h = rounded_hessian(b, x, curvature);
  return 0.5 * (h + h.transpose());
}

double pair_load(const PairBarrier& b, const SquaredDistance& d, const PairPoints& x) {
  const double load = -2 * b.scale * barrier_function(d.value, b.reach)[1] * std::sqrt(d.value);
  return b.threshold == 0 ? load : mollifier(edge_cross(x).c, b.threshold)[0] * load;
}

void evaluate_pairs(PairKind kind, std::span<const mesh::Point> points, std::span<const mesh::Point> rest, double reach,
                    Curvature curvature, std::span<double> values, std::span<PairVector> gradients,
                    std::span<PairMatrix> hessians) {
  require(points.size() == 4 * values.size() && rest.size() == points.size() && gradients.size() == values.size() &&
              hessians.size() == values.size(),
          "there must be four points, and four at rest, for each pair");
  parallel_for(0, static_cast<Index>(values.size()), 64, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const auto x = points.subspan(4 * i, 4), r = rest.subspan(4 * i, 4);
      const PairPoints p{x[0], x[1], x[2], x[3]};
      PairBarrier form{kind, reach, 1, 0};
      if (kind == PairKind::edge_edge)
        form.threshold = mollifier_threshold((r[1] - r[0]).squaredNorm(), (r[3] - r[2]).squaredNorm());
      values[i] = pair_energy(form, p);
      gradients[i] = pair_gradient(form, p);
      hessians[i] = pair_hessian(form, p, curvature);
    }
  });
}

PairMatrix without_negative_eigenvalues(const PairMatrix& m) {
  const Eigen::SelfAdjointEigenSolver<PairMatrix> eigen(m);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).asDiagonal() * eigen.eigenvectors().transpose();
}

}  // namespace meniscus::collision
