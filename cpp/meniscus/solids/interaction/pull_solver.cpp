#include "meniscus/solids/interaction/pull_solver.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Directions with less inverse mass than that part of the largest are those that nothing moves.
constexpr double kNoMotion = 1e-12;

/// The inverse on what a symmetric matrix moves, and zero elsewhere.
Matrix3d inverse_on_range(const Matrix3d& k) {
  const Matrix3d symmetric = 0.5 * (k + k.transpose());
  if (!symmetric.allFinite() || symmetric.isZero(0.0)) return Matrix3d::Zero();
  Eigen::SelfAdjointEigenSolver<Matrix3d> axes(symmetric);
  const double least = kNoMotion * axes.eigenvalues().cwiseAbs().maxCoeff();
  Vector3d inverse = Vector3d::Zero();
  for (int d = 0; d < 3; ++d)
    if (axes.eigenvalues()[d] > least) inverse[d] = 1 / axes.eigenvalues()[d];
  return axes.eigenvectors() * inverse.asDiagonal() * axes.eigenvectors().transpose();
}

struct PullEntries {
  std::size_t begin, end;
};

PullEntries entries_of(const PullRows& rows, std::size_t i) {
  return {static_cast<std::size_t>(rows.first[i]), static_cast<std::size_t>(rows.first[i + 1])};
}

void add_impulse(const PullRows& rows, PullEntries e, const Vector3d& impulse, std::span<double> velocity) {
  for (std::size_t k = e.begin; k < e.end; ++k) velocity[rows.coordinates[k]] += rows.responses[k].dot(impulse);
}

}  // namespace

PullReport PullSolver::solve(const PullRows& rows, int iterations, double tolerance, std::span<double> velocity,
                             std::span<mesh::Point> impulses) {
  const std::size_t n = rows.bias.size();
  if (inverses_.size() < n) inverses_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const PullEntries e = entries_of(rows, i);
    Matrix3d k = rows.softness[i] * Matrix3d::Identity();
    for (std::size_t j = e.begin; j < e.end; ++j) k += rows.directions[j] * rows.responses[j].transpose();
    inverses_[i] = inverse_on_range(k);
    const double size = impulses[i].norm();
    if (size > rows.limits[i]) impulses[i] *= rows.limits[i] / size;
    add_impulse(rows, e, impulses[i], velocity);
  }
  PullReport report;
  while (report.iterations < iterations) {
    ++report.iterations;
    double change = 0, largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const PullEntries e = entries_of(rows, i);
      Vector3d lack = rows.bias[i] + rows.softness[i] * impulses[i];
      for (std::size_t j = e.begin; j < e.end; ++j) lack += velocity[rows.coordinates[j]] * rows.directions[j];
      Vector3d next = impulses[i] - inverses_[i] * lack;
      const double size = next.norm();
      if (size > rows.limits[i]) next *= rows.limits[i] / size;
      const Vector3d step = next - impulses[i];
      add_impulse(rows, e, step, velocity);
      impulses[i] = next;
      change = std::max(change, step.cwiseAbs().maxCoeff());
      largest = std::max(largest, next.cwiseAbs().maxCoeff());
    }
    report.change = change;
    if (change <= tolerance * largest) break;
  }
  return report;
}

}  // namespace meniscus::solids
