/// Contacts of nodes with solids within a step: positions that turn along the surface, and the rows of their contacts.
///
/// Source: Selle 2008, section 6.5 (the position update with theta).
#pragma once

#include "meniscus/solids/contact/node_rows.hpp"
#include "meniscus/surface/shapes/solid_at.hpp"

namespace meniscus::solids {

/// A solid that nodes stay out of, as it is at some time.
struct SolidObstacle {
  std::shared_ptr<const surface::SolidAt> solid;
  /// Distance that nodes keep, m.
  double thickness;
  double friction;

  /// Answers with distances from what nodes stay out of.
  void ask(ConstPoints x, const surface::SolidAnswers& answers) const;
  /// A box around that.
  surface::Bounds<3> bounds() const { return solid->bounds().grown(thickness); }
};

enum class SolidResponse {
  path,       ///< nodes go up to the surface and on from there with the velocity after contact
  projection  ///< nodes go straight out of the solid
};

/// Keeps nodes out of solids in a step of dt seconds from x0 to x1: changes the ends of their ways, and returns the rows. Solids
/// are as they are at the end of the step, with their mean velocities over it. Each is asked once per turn, for the nodes in its
/// box; `movable`: those that can move, ascending.
NodeRows meet_solids(std::span<const SolidObstacle> solids, ConstPoints x0, Points x1, double dt,
                     std::span<const std::int32_t> movable, SolidResponse response);

/// The nodes, out of these, that are deeper in a solid at `ends` than they were at `here`, ascending.
std::vector<std::int32_t> pressed_into(std::span<const SolidObstacle> solids, ConstPoints here, ConstPoints ends,
                                       std::span<const std::int32_t> nodes);

/// Nodes that do not move freely, ascending, and projections onto their free directions.
struct NodeProjectors {
  std::vector<std::int32_t> nodes;
  std::vector<Eigen::Matrix3d> free;
};

/// Lets nodes that went deeper into a solid from `here` to `ends` move only along it; false, with nothing changed, if there are
/// none. Source: own.
bool hold_out_of(std::span<const SolidObstacle> solids, ConstPoints here, ConstPoints ends, std::span<const std::int32_t> movable,
                 NodeProjectors& projectors);

}  // namespace meniscus::solids
