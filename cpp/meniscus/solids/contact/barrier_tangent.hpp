/// Second derivative of the energies of contact at the nodes of all bodies and obstacles: barriers and friction between surfaces,
/// whose vertices hang in nodes, and blocks of single nodes near solids.
#pragma once

#include "meniscus/collision/barrier/barrier_friction.hpp"
#include "meniscus/solids/force.hpp"
#include "meniscus/solids/node_fields.hpp"

namespace meniscus::solids {

/// Adds vectors of the vertices, times their weights, to the nodes that they hang in: the transpose of
/// `ContactNodes::at_vertices`.
void add_to_nodes(const collision::ContactNodes& nodes, ConstPoints of_vertices, Points out);

/// Barrier and friction have been linearised, and outlive this object. Single nodes ascend.
class BarrierTangent {
 public:
  BarrierTangent(const collision::ContactNodes& nodes, collision::Barrier& barrier, double stiffness,
                 collision::BarrierFriction& friction, std::span<const std::int32_t> single, std::span<const Block3> blocks);

  Index nodes() const { return nodes_.nodes(); }

  /// Adds `factor` times the product with u.
  void add_product(ConstPoints u, double factor, Points out);

  /// Adds `factor` times the blocks on the diagonal; of vertices in several nodes without what couples these.
  void add_diagonal(double factor, std::span<Block3> out) const;

 private:
  const collision::ContactNodes& nodes_;
  collision::Barrier& barrier_;
  double stiffness_;
  collision::BarrierFriction& friction_;
  std::span<const std::int32_t> single_;
  std::span<const Block3> blocks_;
  std::vector<mesh::Point> vertices_, sums_;
};

}  // namespace meniscus::solids
