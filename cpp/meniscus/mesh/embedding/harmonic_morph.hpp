/// Harmonic interpolation of the motion of some vertices of a tetrahedral mesh to all others.
///
/// Source: Lee 2018, section 2.3.1; Ali-Hamadi et al., "Anatomy transfer", 2013.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/numerics/solve_info.hpp"

#include <vector>

namespace meniscus::mesh {

/// Each component of the displacement solves the Laplace equation with linear finite elements; the matrix belongs to the rest
/// positions. Affine motions are reproduced up to the tolerance. Where no dihedral angle is obtuse, values stay within the range
/// of the given ones; elsewhere linear elements may leave it slightly.
class HarmonicMorph {
 public:
  /// Throws InvalidArgument for tetrahedra without a positive volume, fixed vertices that are out of range or come twice, and a
  /// part of the mesh without a fixed vertex.
  HarmonicMorph(const TetMeshView& rest, std::span<const std::int32_t> fixed);

  Index vertices() const { return static_cast<Index>(start_.size()) - 1; }
  std::span<const std::int32_t> fixed() const { return fixed_; }

  /// Displacements of all vertices, m, from those of the fixed vertices. `out` is the start of the iteration where `warm`.
  /// Vertices without tetrahedra that are not fixed do not move. Throws InvalidArgument for other sizes and values that are not
  /// finite, and std::runtime_error if the tolerance is not met. Returns the iterations of the three solves.
  std::array<int, 3> solve(std::span<const Point> displacements, double tolerance, bool warm, std::span<Point> out);

  /// Edges between vertices of which at least one is free that have a positive entry in the matrix: without any, the maximum
  /// principle holds exactly.
  Index positive_edges() const;

 private:
  struct System;

  std::vector<std::int32_t> fixed_;
  std::vector<bool> is_fixed_;
  std::vector<Index> start_;  // of the rows: the off-diagonal entries of each vertex, ascending
  std::vector<std::int32_t> column_;
  std::vector<double> entry_;
  std::vector<double> diagonal_;
  std::vector<double> x_, b_, r_, p_, q_, z_;
  numerics::SolveInfo info_;
};

}  // namespace meniscus::mesh
