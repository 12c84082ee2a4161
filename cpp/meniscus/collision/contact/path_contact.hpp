/// Contact of a pair on its path within a step: the first time, the weights and the direction in which a response pushes.
///
/// Source: Selle 2008, section 6.3 (impulses on effective velocities); Brochu 2012, section 3.2.7; the direction at rims and at
/// grazing contacts is ours.
#pragma once

#include "meniscus/collision/broad_phase/broad_phase.hpp"
#include "meniscus/collision/contact/contact_row.hpp"

namespace meniscus::collision {

struct PathContact {
  PairKind kind;
  /// Numbers of the elements: (vertex, face) or (edge, edge).
  ElementPair pair;
  Stencil vertices;
  /// As in ElementProximity, at the time of contact.
  std::array<double, 4> weights;
  /// Of length 1. The contact points approach along it, or rest: normal . sum weights displacement <= 0.
  mesh::Point normal;
  /// Part of the step before the first contact; 0 for a pair that touches at the start.
  double time;
};

/// The contact of a pair that collides in mode `any`. `normal` is that of the face or across both edges, oriented against the
/// relative motion; where the contact points do not approach along that (contact with a rim, sliding in a plane), it is
/// opposite to their relative motion, so that an impulse along it always holds the contact off.
PathContact path_contact(PairKind kind, const ElementPair& pair, const Stencil& vertices, std::span<const mesh::Point> start,
                         std::span<const mesh::Point> end);

}  // namespace meniscus::collision
