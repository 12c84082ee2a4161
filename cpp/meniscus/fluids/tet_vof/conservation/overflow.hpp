/// Smear and push-out of water beyond what tetrahedra have room for.
///
/// Both are defined for all tetrahedra of a rank at the same time, so that the result depends neither on threads nor, beyond
/// round-off, on how tetrahedra are numbered. docs/tet_vof.md proves what holds afterwards.
///
/// Source: Lee 2018, section 3.3.3, where the order within a rank is open.
#pragma once

#include "meniscus/core/memory/joined_lists.hpp"
#include "meniscus/core/memory/sorted_numbers.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/tet_vof/conservation/offers.hpp"
#include "meniscus/fluids/tet_vof/emission.hpp"
#include "meniscus/fluids/tet_vof/parcels.hpp"
#include "meniscus/fluids/tet_vof/tet_ranks.hpp"
#include "meniscus/fluids/tet_vof/way_out.hpp"

namespace meniscus::fluids {

/// What water meets in the mesh at the end of a step.
struct WaterRoom {
  const TetGraph& graph;
  std::span<const mesh::Point> positions;
  /// Volume that a tetrahedron may hold, m^3.
  std::span<const double> capacity;
  std::span<const std::int32_t> ranks;
  /// Which tetrahedra have no way out of the mesh; empty: none.
  std::span<const std::uint8_t> closed;
  /// Whether water leaves across faces without a neighbour.
  bool open_boundary;
  /// Whether excess goes towards the nearest room, and not to higher ranks.
  bool nearest_room = false;
  /// Tetrahedra at the boundary of the mesh beyond which is nothing but water, ascending: excess leaves there only where no room
  /// is near.
  std::span<const std::int32_t> beside_water = {};
};

/// Calls f(face, neighbour) for the neighbours across faces that may hold water.
template <class F>
void for_open_neighbours(const WaterRoom& room, std::int32_t t, F&& f) {
  const mesh::Tet& n = room.graph.neighbours(t);
  for (std::size_t k = 0; k < 4; ++k)
    if (n[k] >= 0 && room.ranks[n[k]] >= 0) f(k, n[k]);
}

class Overflow {
 public:
  Overflow(const TetGraph& graph, Quantum quantum)
      : graph_(graph), quantum_(quantum), offers_(graph), waiting_(graph.size(), 0) {}

  /// Volumes below a threshold go to the fullest neighbour across a face, if that holds as much as the threshold.
  void merge_debris(const TetWater& water, const WaterRoom& room, double threshold, Workspace& workspace);

  /// Every tetrahedron above its capacity, except at the boundary of the mesh, gives equal parts of the excess to its neighbours
  /// across faces. `iterations` times.
  void smear(const TetWater& water, const WaterRoom& room, Index iterations);

  /// First, neighbours with room take what they can. Then, in parts with a way out, from the lowest rank to the highest: excess
  /// fills neighbours across faces that have room, as evenly as they can; the rest goes in equal parts to those of higher ranks,
  /// or if there are none to the nearest ones, and leaves at the boundary of the mesh. `highest` is the highest rank. In closed
  /// parts, or everywhere with `nearest_room`, excess goes the same way towards the nearest tetrahedra with room, instead of
  /// higher ranks; in closed parts without room it stays. Volumes and momenta are conserved; what leaves goes to `left`.
  void push_out(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
                Workspace& workspace);

  /// How many tetrahedra kept an excess in the last sweep, and how much, m^3.
  Index enclosed() const { return enclosed_; }
  double enclosed_volume() const { return enclosed_volume_; }

  std::size_t nbytes() const;

 private:
  /// Below this a tetrahedron counts as full, quanta.
  static constexpr double debris_quanta = 8;

  /// Tetrahedra that are scanned in one piece.
  static constexpr Index scan_chunk = 1 << 14;
  /// Tetrahedra whose room is found before they are looked at, while they are in a core's own memory.
  static constexpr Index row = 1 << 9;

  double excess_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const;
  double free_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const;
  void measure_room(Index begin, Index end, const TetWater& water, const WaterRoom& room);
  void collect(const TetWater& water, const WaterRoom& room, bool boundary, bool measure);
  bool claim(std::int32_t t);
  void enqueue(std::int32_t t);
  void fetch_neighbours(Index i, Index end) const;
  void fetch_ways(const WaterRoom& room, Index i, Index end) const;
  void fill_neighbours(const TetWater& water);
  void drop_settled();
  bool offer_outward(const TetWater& water, const WaterRoom& room);
  std::int32_t order_by_room(const WaterRoom& room, std::int32_t highest, std::span<const std::int32_t> beside_water);
  void measure_excess(const TetWater& water, const WaterRoom& room);
  void sweep(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
             Workspace& workspace);
  void push_far(const TetWater& water, const WaterRoom& room, std::int32_t level, std::vector<LeftWater>& left,
                Workspace& workspace);
  void settle(const TetWater& water);

  const TetGraph& graph_;
  Quantum quantum_;
  Offers offers_;
  /// The tetrahedra of a level, and what each has still to give away.
  std::vector<std::int32_t> sources_;
  std::vector<double> excess_;
  /// Room of all tetrahedra in a push-out, m^3; 0 where it is too little to count.
  std::vector<double> room_;
  /// Whether a tetrahedron waits for its turn in the sweep.
  std::vector<std::uint8_t> waiting_;
  /// Sources that have found no room beside them, and their excess.
  std::vector<std::int32_t> stuck_;
  std::vector<double> stuck_excess_;
  std::vector<std::vector<std::int32_t>> pieces_;
  JoinedLists<std::int32_t> lists_;
  NumberSort sort_;
  std::vector<std::vector<std::int32_t>> queue_;
  Parcels parcels_;
  /// Where water goes that has no way out across a face, what place in the order that has, and whether it has to wait for its
  /// turn from now on.
  struct Goal {
    std::int32_t tet, order;
    bool first;
  };
  struct Far {
    OutwardSearch search;
    std::vector<Goal> goals;
  };
  std::vector<Far> far_;
  LeftWaters left_;
  /// Excess goes from lower to higher values: ranks, or how near room is.
  std::vector<std::int32_t> room_order_, front_;
  bool by_ranks_ = true;
  std::span<const std::int32_t> order_;
  /// What has received water at a rank that the sweep has left behind.
  std::vector<std::int32_t> again_;
  Index enclosed_ = 0;
  double enclosed_volume_ = 0;
};

}  // namespace meniscus::fluids
