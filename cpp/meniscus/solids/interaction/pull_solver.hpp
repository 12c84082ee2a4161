/// Impulses that pull points of bodies together or towards places: handles, attachments, pose targets, each a soft row of three
/// equations with a largest impulse. Gauss-Seidel iteration over accumulated impulses.
///
/// Row i asks for v + b + s p = 0 of the velocity v at its point, with a bias b (m/s), a softness s (1/kg) and the impulse p. An
/// implicit spring of stiffness k and damping c over dt, stretched by e, is s = 1 / (dt^2 k + dt c) and b = -e k / (dt k + c).
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, section 6.3 (impulses by the inverse mass); Catto,
/// "Soft constraints", 2011 (implicit springs as soft rows).
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <vector>

namespace meniscus::solids {

/// Rows one after the other. The velocity of row i is the sum of `directions` times generalised velocities, over the entries from
/// `first[i]` to `first[i + 1]`; an impulse p changes each of these by `responses` . p.
struct PullRows {
  std::span<const std::int64_t> first;
  std::span<const std::int32_t> coordinates;
  std::span<const mesh::Point> directions, responses;
  std::span<const mesh::Point> bias;  ///< m/s
  std::span<const double> softness;   ///< 1/kg
  std::span<const double> limits;     ///< kg m/s, of the size of the impulse
};

struct PullReport {
  int iterations = 0;
  double change = 0;  ///< kg m/s: of the largest impulse in the last iteration
};

class PullSolver {
 public:
  /// Changes the generalised velocities, which do not have `impulses` yet, and the impulses, which the iteration starts from. It
  /// ends when no impulse changes by more than `tolerance` of the largest. Directions that nothing moves, and that have no
  /// softness, get no impulse. Allocates only for more rows than ever before.
  PullReport solve(const PullRows& rows, int iterations, double tolerance, std::span<double> velocity,
                   std::span<mesh::Point> impulses);

  std::size_t nbytes() const { return sizeof(Eigen::Matrix3d) * inverses_.capacity(); }

 private:
  std::vector<Eigen::Matrix3d> inverses_;
};

}  // namespace meniscus::solids
