/// Points at which rigid bodies touch, grouped by pairs of bodies, and what surfaces do there.
#pragma once

#include "meniscus/solids/rigid/contact/body_motion.hpp"

#include <vector>

namespace meniscus::solids {

/// Of the surface of a body, or of a pair of surfaces. Coefficients of friction and restitution of a pair are the geometric mean
/// and the larger of the two.
struct RigidSurface {
  double static_friction = 0.4;
  double dynamic_friction = 0.4;
  /// Across `direction`, relative to that along it.
  double across = 1;
  double rolling_friction = 0;   ///< m: torque against rolling per normal force
  double spinning_friction = 0;  ///< m: torque against spinning about the normal per normal force
  double restitution = 0;
  double thickness = 0;                 ///< m: distance that surfaces keep, half of it from each side
  Vector3 direction = Vector3::Zero();  ///< of anisotropic friction, in axes of the body; zero: none
};
static_assert(sizeof(RigidSurface) == 10 * sizeof(double));

RigidSurface surface_of_pair(const RigidSurface& first, const RigidSurface& second);

/// A point of contact, and its memory from step to step.
struct ContactPoint {
  Vector3 point;   ///< in the middle between the surfaces, m
  Vector3 normal;  ///< from the second body to the first, of length 1
  double gap = 0;  ///< between the surfaces, negative where they overlap, m
  /// Impulses of the last solve along the normal and the two tangents, kg m/s; about the normal and the two tangents, kg m^2/s.
  double normal_impulse = 0;
  std::array<double, 2> tangent_impulse{};
  std::array<double, 3> turning_impulse{};
  Vector3 tangent = Vector3::Zero();  ///< the first one of the last solve, in axes of the world
  std::uint64_t key = 0;              ///< of the features that touch
};

static_assert(sizeof(ContactPoint) == 17 * sizeof(double));

/// The contacts of two bodies: `count` from `first` on.
struct ContactGroup {
  std::array<std::int32_t, 2> bodies{};
  std::int32_t count = 0;
  Index first = 0;
};

/// All contacts: groups in lexicographic order of their bodies.
struct ContactList {
  std::vector<ContactGroup> groups;
  std::vector<ContactPoint> points;

  void clear() {
    groups.clear();
    points.clear();
  }
  std::span<ContactPoint> of(const ContactGroup& g) { return {points.data() + g.first, static_cast<std::size_t>(g.count)}; }
  std::span<const ContactPoint> of(const ContactGroup& g) const {
    return {points.data() + g.first, static_cast<std::size_t>(g.count)};
  }
  /// The group of two bodies, or nullptr.
  const ContactGroup* find(std::array<std::int32_t, 2> bodies) const;
  Index nbytes() const;
};

/// Takes the impulses of points with the same key, or else of the nearest one within `radius` (m) that nobody else took, over
/// from an older list.
void inherit_impulses(const ContactList& old, double radius, ContactList& list);

}  // namespace meniscus::solids
