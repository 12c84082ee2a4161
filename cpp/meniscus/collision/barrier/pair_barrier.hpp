/// Barrier energy of one pair of elements, with first and second derivatives.
///
/// The energy of nearly parallel edges is multiplied by a mollifier of their squared cross product c: m = (2 - c / e) c / e below
/// the threshold e, 1 above it, so that its gradient has no jumps where the nearest features change.
///
/// Source: Li et al., "Incremental Potential Contact", 2020, sections 4.1 and 5, equation 24.
#pragma once

#include "meniscus/collision/barrier/squared_distance.hpp"

#include <cmath>
#include <span>

namespace meniscus::collision {

struct PairBarrier {
  PairKind kind;
  /// Squared distance below which there is energy, m^2.
  double reach;
  /// Factor of the barrier function.
  double scale;
  /// e, m^4; 0 for vertices and faces.
  double threshold;

  /// The distance below which there is energy, m.
  double activation() const { return std::sqrt(reach); }
};

enum class Curvature : std::int8_t {
  exact,
  definite,  ///< with its negative eigenvalues set to zero
};

/// The threshold of two edges from their squared lengths at rest.
constexpr double mollifier_threshold(double first, double second) { return 1e-3 * first * second; }

/// Value, first and second derivative by c.
std::array<double, 3> mollifier(double c, double threshold);

double pair_energy(const PairBarrier& b, const PairPoints& x);
/// By the twelve coordinates.
PairVector pair_gradient(const PairBarrier& b, const PairPoints& x);
PairMatrix pair_hessian(const PairBarrier& b, const PairPoints& x, Curvature curvature);

/// Size of the force between the elements at a distance, for friction: with the mollifier.
double pair_load(const PairBarrier& b, const SquaredDistance& d, const PairPoints& x);

/// Energies for a scale of 1 of many pairs of one kind, with their derivatives, in parallel: four points each, and four at rest,
/// which decide when edges are nearly parallel. `reach` as in `PairBarrier`.
void evaluate_pairs(PairKind kind, std::span<const mesh::Point> points, std::span<const mesh::Point> rest, double reach,
                    Curvature curvature, std::span<double> values, std::span<PairVector> gradients,
                    std::span<PairMatrix> hessians);

/// A symmetric matrix with its negative eigenvalues set to zero.
PairMatrix without_negative_eigenvalues(const PairMatrix& m);

}  // namespace meniscus::collision
