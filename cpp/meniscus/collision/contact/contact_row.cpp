#include "meniscus/collision/contact/contact_row.hpp"

namespace meniscus::collision {

ContactRow::RigidShare ContactRow::share_of(const RigidNodes& body) const {
  RigidShare share;
  for (std::size_t k = 0; k < size_; ++k)
    for (std::size_t i = 0; i < 4; ++i)
      if (body.nodes[i] == node_[k]) {
        share.weight += weight_[k];
        share.arm += weight_[k] * body.arms[i];
      }
  return share;
}

void ContactRow::change_of(const CoupledNodes& body, const mesh::Point& impulse, Eigen::Map<Eigen::VectorXd>& change) const {
  change.setZero();
  for (std::size_t k = 0; k < size_; ++k)
    if (weight_[k] != 0 && body.has(node_[k])) {
      const mesh::Point part = weight_[k] * impulse;
      change.noalias() += body.of(node_[k]).transpose() * part;
    }
}

double ContactRow::inverse_mass_of_bodies(const ContactNodes& nodes, const mesh::Point& direction) const {
  double sum = 0;
  std::array<double, CoupledNodes::most> memory;
  for (std::size_t k = 0; k < size_; ++k) {
    if (const CoupledNodes* const body = nodes.coupled_of(node_[k])) {
      // Each body once, at its lead, which all of its rows have.
      if (body->lead != node_[k]) continue;
      Eigen::Map<Eigen::VectorXd> change(memory.data(), body->coordinates);
      change_of(*body, direction, change);
      sum += change.squaredNorm();
      continue;
    }
    const std::int32_t b = nodes.rigid_of(node_[k]);
    if (b < 0) {
      sum += weight_[k] * weight_[k] * nodes.inverse_mass(node_[k]) * direction.dot(nodes.free_part(node_[k], direction));
      continue;
    }
    const RigidNodes& body = nodes.rigid()[b];
    // Each body once, at its first node: rows have all four.
    if (body.nodes[0] != node_[k]) continue;
    const RigidShare share = share_of(body);
    const mesh::Point torque = share.arm.cross(direction);
    sum += share.weight * share.weight * body.inverse_mass * direction.squaredNorm() + torque.dot(body.inverse_inertia * torque);
  }
  return sum;
}

void ContactRow::apply_to_bodies(const ContactNodes& nodes, const mesh::Point& impulse, std::span<mesh::Point> velocities) const {
  std::array<double, CoupledNodes::most> memory;
  for (std::size_t k = 0; k < size_; ++k) {
    if (const CoupledNodes* const body = nodes.coupled_of(node_[k])) {
      if (body->lead != node_[k]) continue;
      Eigen::Map<Eigen::VectorXd> change(memory.data(), body->coordinates);
      change_of(*body, impulse, change);
      for (std::int32_t i = body->first; i < body->first + body->count; ++i) velocities[i].noalias() += body->of(i) * change;
      continue;
    }
    const double w = nodes.inverse_mass(node_[k]);
    if (!(w > 0)) continue;
    const std::int32_t b = nodes.rigid_of(node_[k]);
    if (b < 0) {
      velocities[node_[k]] += weight_[k] * w * nodes.free_part(node_[k], impulse);
      continue;
    }
    const RigidNodes& body = nodes.rigid()[b];
    if (body.nodes[0] != node_[k]) continue;
    const RigidShare share = share_of(body);
    const mesh::Point linear = share.weight * body.inverse_mass * impulse;
    const mesh::Point angular = body.inverse_inertia * share.arm.cross(impulse);
    for (std::size_t i = 0; i < 4; ++i) velocities[body.nodes[i]] += linear + angular.cross(body.arms[i]);
  }
}

}  // namespace meniscus::collision
