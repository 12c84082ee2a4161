/// Amounts of water on their way into tetrahedra, added in an order that does not depend on threads.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

#include <vector>

namespace meniscus::fluids {

/// Water that goes into a tetrahedron, m^3, with its velocity, m/s.
struct Parcel {
  double volume;
  mesh::Point velocity;
  std::int32_t target;
};

/// Collected by pieces of a parallel loop, each of which has a number; then added all at once. Memory is kept.
class Parcels {
 public:
  /// Empties the pieces and sees to it that there are as many.
  void begin(Index pieces) {
    if (static_cast<Index>(pieces_.size()) < pieces) pieces_.resize(static_cast<std::size_t>(pieces));
    for (auto& p : pieces_) p.clear();
  }
  std::vector<Parcel>& piece(Index i) { return pieces_[static_cast<std::size_t>(i)]; }

  /// Adds all to the water, in the order of the pieces. What they hold stays until `begin`.
  void add_to(const TetWater& water, Workspace& workspace);

  std::size_t nbytes() const;

 private:
  std::vector<std::vector<Parcel>> pieces_;
  std::vector<const Parcel*> all_;
  std::vector<std::uint64_t> keys_;
  std::vector<Index> order_;
};

}  // namespace meniscus::fluids
