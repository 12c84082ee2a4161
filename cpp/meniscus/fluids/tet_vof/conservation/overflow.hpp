/// Smear and push-out of water beyond what tetrahedra have room for.
///
/// Both are defined for all tetrahedra of a rank at the same time, so that the result depends neither on threads nor, beyond
/// round-off, on how tetrahedra are numbered. docs/tet_vof.md proves what holds afterwards.
///
/// Source: Lee 2018, section 3.3.3, where the order within a rank is open.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/tet_vof/conservation/offers.hpp"
#include "meniscus/fluids/tet_vof/emission.hpp"
#include "meniscus/fluids/tet_vof/parcels.hpp"
#include "meniscus/fluids/tet_vof/tet_ranks.hpp"

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
};

/// Calls f(face, neighbour) for the neighbours across faces that may hold water.
template <class F>
void for_open_neighbours(const WaterRoom& room, std::int32_t t, F&& f) {
  const mesh::Tet& n = room.graph.neighbours(t);
  for (std::size_t k = 0; k < 4; ++k)
    if (n[k] >= 0 && room.ranks[static_cast<std::size_t>(n[k])] >= 0) f(k, n[k]);
}

class Overflow {
 public:
  Overflow(const TetGraph& graph, Quantum quantum) : graph_(graph), quantum_(quantum), offers_(graph) {}

  /// Volumes below a threshold go to the fullest neighbour across a face, if that holds as much as the threshold.
  void merge_crumbs(const TetWater& water, const WaterRoom& room, double threshold, Workspace& workspace);

  /// Every tetrahedron above its capacity, except at the boundary of the mesh, gives equal parts of the excess to its neighbours
  /// across faces. `iterations` times.
  void smear(const TetWater& water, const WaterRoom& room, Index iterations);

  /// First, neighbours with room take what they can. Then, in parts with a way out, from the lowest rank to the highest: excess
  /// fills neighbours across faces that have room, as evenly as they can; the rest goes in equal parts to those of higher ranks,
  /// or if there are none to the nearest ones, and leaves at the boundary of the mesh. `highest` is the highest rank. In closed
  /// parts, excess goes the same way towards the nearest tetrahedra with room, instead of higher ranks; where there is no room,
  /// it stays. Volumes and momenta are conserved; what leaves goes to `left`.
  void push_out(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
                Workspace& workspace);

  /// How many tetrahedra kept an excess in the last sweep, and how much, m^3.
  Index enclosed() const { return enclosed_; }
  double enclosed_volume() const { return enclosed_volume_; }

  std::size_t nbytes() const;

 private:
  /// Below this a tetrahedron counts as full, quanta.
  static constexpr double crumbs = 8;

  /// Tetrahedra that are scanned in one piece.
  static constexpr Index scan_chunk = 1 << 14;

  double excess_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const;
  double free_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const;
  void collect(const TetWater& water, const WaterRoom& room, bool boundary);
  void enqueue(std::int32_t t);
  void fetch_neighbours(Index i, Index end, const TetWater& water, const WaterRoom& room) const;
  bool offer_to_neighbours(const TetWater& water, const WaterRoom& room);
  bool offer_outward(const WaterRoom& room);
  std::int32_t order_closed(const TetWater& water, const WaterRoom& room, std::int32_t highest);
  void fill_everywhere(const TetWater& water, const WaterRoom& room);
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
  std::vector<std::vector<std::int32_t>> pieces_;
  std::vector<std::vector<std::int32_t>> queue_;
  Parcels parcels_;
  LeftWaters left_;
  /// Excess goes from lower to higher values: ranks, or in closed parts how near room is. Ranks themselves where nothing is
  /// closed.
  std::vector<std::int32_t> closed_order_;
  std::span<const std::int32_t> order_;
  /// What has received water at a rank that the sweep has left behind.
  std::vector<std::int32_t> again_;
  Index enclosed_ = 0;
  double enclosed_volume_ = 0;
};

}  // namespace meniscus::fluids
