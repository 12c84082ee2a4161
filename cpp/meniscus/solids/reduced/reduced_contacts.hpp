/// Contact of a reduced body with obstacles that it does not move: impulses at points with friction, by projected Gauss-Seidel
/// iteration.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, section 6.3 (impulses by the inverse mass along a
/// direction); Kaufman, Edmunds and Pai, "Fast frictional dynamics for rigid bodies", 2005 (contact in generalised velocities).
#pragma once

#include "meniscus/solids/reduced/reduced_motion.hpp"

namespace meniscus::solids {

/// One contact per entry.
struct ReducedContactSet {
  /// `corners` of each, one contact after the other.
  std::span<const std::int32_t> nodes;
  std::span<const double> weights;
  Index corners = 1;
  std::span<const mesh::Point> normals;              ///< unit, away from the obstacle
  std::span<const mesh::Point> obstacle_velocities;  ///< m/s
  std::span<const double> least_speeds;              ///< m/s: along the normal, relative to the obstacle
  std::span<const double> friction;                  ///< coefficients

  Index size() const { return static_cast<Index>(normals.size()); }
  ReducedPoint point(Index i) const {
    const auto first = static_cast<std::size_t>(i * corners), count = static_cast<std::size_t>(corners);
    return {nodes.subspan(first, count), weights.subspan(first, count)};
  }
};

class ReducedContacts {
 public:
  /// Sets `impulses` (kg m/s, in space), starting from those given, and applies them. Returns the iterations, which end when no
  /// impulse changes by more than 1e-12 of the largest. Allocates only for more contacts than ever before.
  int solve(ReducedMotion& body, const ReducedContactSet& contacts, int iterations, std::span<mesh::Point> impulses);

  /// Sets 3 x 3 matrices (1/kg, in space): what an impulse at a point changes of its velocity.
  void inverse_masses(ReducedMotion& body, std::span<const std::int32_t> nodes, std::span<const double> weights, Index corners,
                      std::span<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> out);

  /// Sets, of each point, its directions (3, d) and the velocities (d, 3) that impulses give, in space, one point after the
  /// other; and the `velocity` (d) of the body: of the centre and turn, in axes of the frame, unless held; rates.
  void rows(ReducedMotion& body, std::span<const std::int32_t> nodes, std::span<const double> weights, Index corners,
            std::span<double> directions, std::span<double> responses, std::span<double> velocity);

  std::size_t nbytes() const { return sizeof(double) * (directions_.size() + responses_.size()); }

 private:
  std::vector<double> directions_, responses_;
  Eigen::MatrixXd solved_;
  ThreeRows row_;
  Eigen::VectorXd velocity_;
};

}  // namespace meniscus::solids
