/// One contact as a linear form on the velocities of nodes: relative velocity along the normal, inverse mass, impulse.
///
/// With barycentric weights a of the four vertices (those of the second element negative, as in `ElementProximity`) and a normal
/// n from the second element to the first, the relative normal velocity is n . sum a_i v_i: negative where the elements approach.
///
/// Sources: Bridson et al. 2002, section 7; Selle 2008, sections 6.3 and 6.4, corrected for unequal masses; Brochu 2012, section
/// 3.2.7.
#pragma once

#include "meniscus/collision/contact/contact_nodes.hpp"
#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <array>

namespace meniscus::collision {

class ContactRow {
 public:
  static constexpr std::size_t capacity = 16;

  /// Weights of one node from several vertices are added, so that a node is in a row once.
  ContactRow(const ContactNodes& nodes, const Stencil& vertices, const std::array<double, 4>& weights, const mesh::Point& normal)
      : normal_(normal) {
    for (std::size_t k = 0; k < 4; ++k)
      for (const NodeShare& s : nodes.shares(vertices[k])) add(s.node, weights[k] * s.weight);
  }

  const mesh::Point& normal() const { return normal_; }
  std::size_t size() const { return size_; }
  std::int32_t node(std::size_t k) const { return node_[k]; }
  double weight(std::size_t k) const { return weight_[k]; }

  /// Relative velocity, or displacement, of the first element.
  mesh::Point relative(std::span<const mesh::Point> velocities) const {
    mesh::Point sum = mesh::Point::Zero();
    for (std::size_t k = 0; k < size_; ++k) sum += weight_[k] * velocities[node_[k]];
    return sum;
  }
  double relative_normal(std::span<const mesh::Point> velocities) const { return normal_.dot(relative(velocities)); }

  /// The change of relative velocity along `direction` that an impulse of 1 along it makes, 1/kg.
  double inverse_mass(const ContactNodes& nodes, const mesh::Point& direction) const {
    if (nodes.joint()) return inverse_mass_of_bodies(nodes, direction);
    double sum = 0;
    for (std::size_t k = 0; k < size_; ++k)
      sum += weight_[k] * weight_[k] * nodes.inverse_mass(node_[k]) * direction.dot(nodes.free_part(node_[k], direction));
    return sum;
  }
  double inverse_mass(const ContactNodes& nodes) const { return inverse_mass(nodes, normal_); }

  /// Applies an impulse to the first element, and the opposite one to the second.
  void apply(const ContactNodes& nodes, const mesh::Point& impulse, std::span<mesh::Point> velocities) const {
    if (nodes.joint()) return apply_to_bodies(nodes, impulse, velocities);
    for (std::size_t k = 0; k < size_; ++k)
      if (const double w = nodes.inverse_mass(node_[k]); w > 0)
        velocities[node_[k]] += weight_[k] * w * nodes.free_part(node_[k], impulse);
  }

 private:
  /// The force on a rigid body, and its arm, for a unit force on the first element.
  struct RigidShare {
    double weight = 0;
    mesh::Point arm = mesh::Point::Zero();
  };
  RigidShare share_of(const RigidNodes& body) const;
  /// Sets what an impulse on the first element changes of the coordinates of a body.
  void change_of(const CoupledNodes& body, const mesh::Point& impulse, Eigen::Map<Eigen::VectorXd>& change) const;
  double inverse_mass_of_bodies(const ContactNodes& nodes, const mesh::Point& direction) const;
  void apply_to_bodies(const ContactNodes& nodes, const mesh::Point& impulse, std::span<mesh::Point> velocities) const;

  void add(std::int32_t node, double weight) {
    for (std::size_t k = 0; k < size_; ++k)
      if (node_[k] == node) {
        weight_[k] += weight;
        return;
      }
    node_[size_] = node;
    weight_[size_++] = weight;
  }

  std::array<std::int32_t, capacity> node_;
  std::array<double, capacity> weight_;
  std::size_t size_ = 0;
  mesh::Point normal_;
};

}  // namespace meniscus::collision
