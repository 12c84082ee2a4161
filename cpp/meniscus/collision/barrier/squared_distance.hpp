/// Squared distance of a vertex and a face, or of two edges, with its first and second derivatives.
///
/// The distance is that of the nearest features: two points, a point and a line, a point and a plane, or two lines. Weights w of
/// the four points make the gap sum w x from the closest point of the second element to that of the first; they depend on up to
/// two free parameters, at which the squared gap is stationary. By that the gradient is 2 w_i gap, and the second derivative is
/// 2 w_i w_j I less what the parameters yield: C (2 D^T D)^-1 C^T, with the columns D of derivatives of the gap by the parameters
/// and C_i = 2 (w_i' gap + w_i D).
///
/// Source: Li et al., "Incremental Potential Contact", 2020, section 4.1 (distances by nearest features). The form of the
/// derivatives is ours.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

using PairPoints = std::array<mesh::Point, 4>;
using PairVector = Eigen::Matrix<double, 12, 1>;
using PairMatrix = Eigen::Matrix<double, 12, 12>;

struct SquaredDistance {
  /// m^2.
  double value;
  /// Of the closest points, those of the second element negative; exactly 0 for points that the nearest features leave out.
  std::array<double, 4> weights;
  /// m.
  mesh::Point gap;
  /// Number of free parameters: 0 for two points, 1 for a point and a line, 2 for a plane or two lines.
  int freedom;
  /// Derivatives by the parameters: of the weights and of the gap.
  std::array<std::array<double, 4>, 2> slopes;
  std::array<mesh::Point, 2> directions;
  /// The inverse of 2 D^T D, in its first `freedom` rows and columns.
  Eigen::Matrix2d yield;
};

SquaredDistance squared_distance(PairKind kind, const PairPoints& x);

/// By the twelve coordinates, point after point.
PairVector gradient(const SquaredDistance& d);
PairMatrix hessian(const SquaredDistance& d);

}  // namespace meniscus::collision
