/// Contact of nodes with solids whose motion is given: where a node meets a solid within a step, the velocity with which it goes
/// on, and Coulomb friction.
///
/// Source: Selle 2008, section 6.5 (function Gamma, the position update with theta).
#pragma once

#include "meniscus/solids/node_fields.hpp"

namespace meniscus::solids {

/// A node on a solid.
struct SolidContact {
  std::int32_t node;
  /// Out of the solid, of length 1.
  mesh::Point normal;
  /// Of the solid there, m/s.
  mesh::Point velocity;
  double friction;
};

/// The velocity after contact, Gamma: not slower along the normal than the solid, and along the surface, relative to it, less by
/// at most the coefficient of friction times what the normal part has gained.
inline mesh::Point after_contact(const SolidContact& c, const mesh::Point& v) {
  const double normal = c.normal.dot(v), given = c.normal.dot(c.velocity);
  if (normal >= given) return v;
  const mesh::Point sliding = (v - c.velocity) - (normal - given) * c.normal;
  const double speed = sliding.norm(), lost = c.friction * (given - normal);
  const mesh::Point left = speed > lost ? mesh::Point((1 - lost / speed) * sliding) : mesh::Point(mesh::Point::Zero());
  return c.velocity + left;
}

/// Applies `after_contact` to the velocities of all nodes in contact. The contacts of a node follow each other, nodes ascend;
/// where a node has several, they take turns until none is violated.
void apply_contacts(std::span<const SolidContact> contacts, Points v);

/// Takes from velocities that know no contact (v_NP) what they have along normals more than the solved ones: forces that pull a
/// node away from a solid which the solve held it at. That velocity is the result of one evaluation of forces, and with stiff
/// damping far more than the node would ever have; the node leaves in the next step, which does not find it in contact.
void press_only(std::span<const SolidContact> contacts, ConstPoints solved, Points loose);

/// When nodes that go from x0 to x1 meet a solid: `theta` in [0, 1], from the distances (m) at both ends, `before` and `after`,
/// of which the second is negative; 0 for nodes that begin inside.
void meeting_times(std::span<const double> before, std::span<const double> after, std::span<double> theta);

/// Ends of nodes that meet a solid: up to theta along their way from x0 to x1, then with the velocity after contact.
/// With several contacts of a node, the ways of the later ones are those that the earlier ones leave.
void turn_at_contacts(std::span<const SolidContact> contacts, std::span<const double> theta, double dt, ConstPoints x0,
                      Points x1);

}  // namespace meniscus::solids
