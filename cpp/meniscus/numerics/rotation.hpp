/// Rotation and singular values of a 3 x 3 matrix A.
///
/// The polar rotation is the R with determinant 1 that is closest to A in the sum of squares. With A = U diag(s) V^T, where U and
/// V are rotations and s[0] >= s[1] >= |s[2]|, it is U V^T: where the determinant of A is negative, the direction of the smallest
/// singular value counts as the inverted one. It is not unique where s[1] + s[2] = 0; then one of the closest is returned, for
/// matrices of rank 1 the one with the smallest angle, and for the zero matrix the identity.
///
/// Sources: Mueller et al., "Real time physics class notes", 2008, section 4.3.2; Higham, "Computing the polar decomposition",
/// 1986; Irving, Teran and Fedkiw, "Invertible finite elements", 2004, section 4; Mueller, Bender, Chentanez and Macklin, "A
/// robust method to extract the rotational part of deformations", 2016.
#pragma once

#include "meniscus/core/types.hpp"

#include <Eigen/Geometry>

#include <span>

namespace meniscus::numerics {

using Matrix3 = Eigen::Matrix3d;
/// Matrix in NumPy's layout.
using RowMatrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

/// A = u diag(s) v^T with rotations u and v; s[0] >= s[1] >= |s[2]|, and s[2] has the sign of the determinant of A.
struct SignedSvd3 {
  Matrix3 u, v;
  Vec<double, 3> s;
};

/// By Jacobi rotations of the columns, which keeps small singular values accurate where they come from small columns, down to
/// round-off of the largest; below that, axes are chosen as for a singular matrix. A must be finite.
SignedSvd3 signed_svd3(const Matrix3& a);

enum class RotationMethod : std::int8_t {
  /// The polar rotation: Newton's iteration where A is well conditioned, singular values elsewhere. Independent of order.
  polar,
  /// The polar rotation from singular values.
  svd,
  /// The polar rotation by the iteration of 2016 on a quaternion, from a given start.
  quaternion,
  /// The closest orthogonal matrix by Newton's iteration alone: a reflection where the determinant of A is negative.
  newton,
  /// The first column keeps its direction, and the third does not count.
  gram_schmidt,
};

struct RotationOptions {
  RotationMethod method = RotationMethod::polar;
  /// Limit of the quaternion iteration.
  int max_iterations = 20;
  double tolerance = 1e-9;
};

Matrix3 polar_rotation(const Matrix3& a);

Matrix3 gram_schmidt_rotation(const Matrix3& a);

/// The closest orthogonal matrix.
Matrix3 newton_orthogonal(const Matrix3& a);

/// Rotates q towards the polar rotation of A until a step is below the tolerance; returns the number of steps.
int rotate_quaternion(const Matrix3& a, Eigen::Quaterniond& q, int max_iterations, double tolerance);

/// The rotations of many matrices, in parallel. `start` holds unit quaternions (w, x, y, z) that are read and updated by
/// RotationMethod::quaternion; without it, that starts at the identity.
void rotations(std::span<const RowMatrix3> a, const RotationOptions& options, std::span<Vec<double, 4>> start,
               std::span<RowMatrix3> out);

/// The singular values of many matrices, in parallel.
void signed_svds(std::span<const RowMatrix3> a, std::span<RowMatrix3> u, std::span<Vec<double, 3>> s, std::span<RowMatrix3> v);

}  // namespace meniscus::numerics
