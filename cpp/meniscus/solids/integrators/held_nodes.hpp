/// Constraints on nodes in a step: the lasting ones of all bodies, and the contacts that were found in this step.
///
/// A contact takes from its node the freedom along a normal; its velocity along that is given. Several normals of one node, and
/// the directions in which it slides anyway, are made orthonormal, so that redundant ones are welcome.
///
/// Source: Selle 2008, sections 5.4 and 6.5 (constraints within the conjugate gradients, per node I - N N^T).
#pragma once

#include "meniscus/solids/integrators/body_in_step.hpp"

namespace meniscus::solids {

/// A node that touches something in the direction of the unit vector `normal`.
struct ContactNormal {
  std::int32_t node;
  mesh::Point normal;
};

class HeldNodes {
 public:
  /// The lasting constraints. Those of a single body are read where they are.
  HeldNodes(std::span<const BodyInStep> bodies, Index nodes, Workspace& workspace);

  /// Adds contacts to the lasting constraints, in place of those before; nodes ascend, those with several normals come several
  /// times. Throws InvalidArgument for nodes that do not exist or do not ascend, and for normals that are not of length 1.
  void set_contacts(std::span<const ContactNormal> contacts);

  /// Sliding also means in contact.
  ConstraintKind kind(std::size_t i) const { return kinds_[i]; }

  /// All held nodes, ascending, with the projection onto their free velocities.
  std::span<const std::int32_t> nodes() const { return nodes_; }
  std::span<const Eigen::Matrix3d> projections() const { return projections_; }

  /// Removes what constraints and contacts take away.
  void project(Points v) const;

  /// Removes what lasting constraints take away.
  void project_lasting(Points v) const;

  /// Nodes in contact that can move, ascending, with the projection onto the directions that contacts take away beside the
  /// lasting constraints.
  std::span<const std::int32_t> touching() const { return touching_; }
  std::span<const Eigen::Matrix3d> across() const { return across_; }

 private:
  void join(std::span<const ContactNormal> contacts);

  std::span<const BodyInStep> bodies_;
  Index count_;
  Workspace* workspace_;
  std::span<const ConstraintKind> kinds_;
  std::span<const std::int32_t> nodes_, touching_;
  std::span<const Eigen::Matrix3d> projections_, across_;
  Workspace::Lease<ConstraintKind> kind_memory_;
  Workspace::Lease<std::int32_t> node_memory_, touching_memory_;
  Workspace::Lease<Eigen::Matrix3d> projection_memory_, across_memory_;
};

}  // namespace meniscus::solids
