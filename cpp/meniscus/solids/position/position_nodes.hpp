/// Nodes of position based dynamics: positions with inverse masses beside them, in one line of memory each.
#pragma once

#include "meniscus/core/types.hpp"

#include <span>

namespace meniscus::solids {

/// A row of an array: position (m) and inverse mass (1/kg), 0 where nothing moves the node.
template <class T>
struct PositionNode {
  T x, y, z, w;
};

/// What a sweep of projections needs to know.
struct ProjectionRules {
  /// s; compliances are divided by its square.
  double dt = 1;
  /// Part k' of each correction that is applied, as printed; 1 otherwise.
  double part = 1;
  /// Colours from the last to the first: a sweep backward and one forward are symmetric together.
  bool backward = false;
};

}  // namespace meniscus::solids
