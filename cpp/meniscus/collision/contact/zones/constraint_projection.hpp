/// Displacements without relative normal displacement of given contacts, closest to given ones in the sense of kinetic energy.
///
/// w = u + M^-1 C^T l with C M^-1 C^T l = -C u. The matrix is singular where contacts are redundant; the right-hand side lies in
/// its range, so that conjugate gradients converge. Small systems that they do not solve, because contacts nearly depend on each
/// other, are solved with orthogonal columns that span M^-1/2 C^T (Householder, with pivots). Larger ones get a sparse Cholesky
/// factor of the matrix, slightly regularised, as preconditioner. Where there are more contacts than nodes have coordinates, the
/// factor is of the matrix of these: (A + e D)^-1 = (D^-1 - D^-1 C (e M + C^T D^-1 C)^-1 C^T D^-1) / e for A = C M^-1 C^T with
/// the diagonal D.
///
/// Source: Brochu 2012, section 3.2.7.
#pragma once

#include "meniscus/collision/contact/contact_row.hpp"

namespace meniscus::collision {

struct ConstraintSystem {
  const ContactNodes& nodes;
  std::span<const ContactRow> rows;
  /// The rows that belong to the system.
  std::span<const std::int32_t> members;
  /// All nodes of these rows with finite mass, ascending.
  std::span<const std::int32_t> free;

  std::size_t size() const { return members.size(); }
  const ContactRow& row(std::size_t i) const { return rows[members[i]]; }
};

/// Relative to the largest displacement of a node: relative normal displacements below this count as zero.
constexpr double constraint_tolerance = 1e-10;

struct ProjectionInfo {
  Index iterations = 0;
  bool met = false;
};

/// Changes the displacements u of the free nodes. `scratch` has one vector per node, zero for the free ones before and
/// afterwards. Serial.
ProjectionInfo project_onto_constraints(const ConstraintSystem& system, std::span<mesh::Point> scratch, std::span<mesh::Point> u);

}  // namespace meniscus::collision
