/// Water that has left the mesh.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <vector>

namespace meniscus::fluids {

/// Water outside, where it is, from which tetrahedron it came; m^3, m, m/s.
struct LeftWater {
  mesh::Point position;
  mesh::Point velocity;
  double volume;
  std::int32_t tet;
};

/// Collected by pieces of a parallel loop, in an order that does not depend on threads.
class LeftWaters {
 public:
  void begin(Index pieces) {
    if (static_cast<Index>(pieces_.size()) < pieces) pieces_.resize(pieces);
    for (auto& p : pieces_) p.clear();
  }
  std::vector<LeftWater>& piece(Index i) { return pieces_[i]; }

  /// Appends all to a list, and empties the pieces.
  void move_to(std::vector<LeftWater>& list) {
    for (auto& p : pieces_) {
      list.insert(list.end(), p.begin(), p.end());
      p.clear();
    }
  }

 private:
  std::vector<std::vector<LeftWater>> pieces_;
};

}  // namespace meniscus::fluids
