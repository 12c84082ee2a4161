/// Planes that nodes stay above in a step, found at solids where nodes enter them, or nearest to them.
///
/// Sources: Müller, Heidelberger, Hennix and Ratcliff, "Position based dynamics", 2006, section 3.4; Müller, Stam, James and
/// Thürey 2008, section 5.4.3.
#pragma once

#include "meniscus/solids/contact/solid_meeting.hpp"
#include "meniscus/solids/position/node_constraints.hpp"

namespace meniscus::solids {

struct PlaneRules {
  double dt;        ///< s, of the step at the end of which solids are as they are asked
  double slack;     ///< m: nodes that end farther than this from a solid get no plane
  double recovery;  ///< m/s: nodes that begin inside come out at most so fast
};

/// Rows: nodes, and a plane of each, ordered by solids and by nodes within these.
struct NodePlanes {
  std::vector<std::int32_t> nodes;
  std::vector<NodePlane> planes;
};

/// The planes of nodes on the way from `start` to `end`, m; `movable`: those that can move, ascending.
NodePlanes find_planes(std::span<const SolidObstacle> solids, ConstPoints start, ConstPoints end,
                       std::span<const std::int32_t> movable, const PlaneRules& rules);

}  // namespace meniscus::solids
