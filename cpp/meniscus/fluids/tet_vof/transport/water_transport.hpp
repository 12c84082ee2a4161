/// Transport of water from a tetrahedral mesh at the begin of a step to the same mesh at its end, in three stages: tetrahedra are
/// traced back and request water from those that they meet, donors that cannot give as much give less to all, and what nobody has
/// requested is traced forward. Volume is conserved to the last bit, momentum to round-off.
///
/// Source: Lee 2018, section 3.3.2 (after Lentine, Aanjaneya and Fedkiw 2011). There the points are fixed quadrature points, with
/// which water that moves slowly relative to the mesh does not move at all; random points do not have this dead band.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/tet_vof/emission.hpp"
#include "meniscus/fluids/tet_vof/parcels.hpp"
#include "meniscus/fluids/tet_vof/transport/near_location.hpp"
#include "meniscus/fluids/tet_vof/transport/overlap_search.hpp"
#include "meniscus/fluids/tet_vof/transport/request_list.hpp"
#include "meniscus/fluids/tet_vof/transport/sample_points.hpp"
#include "meniscus/fluids/tet_vof/transport/tet_reach.hpp"

namespace meniscus::fluids {

/// How the corners of a tetrahedron are traced: all with its own velocity, or each with that of its vertex.
enum class TetTrace : std::uint8_t { per_tet, per_node };

/// A step from one placement of the mesh to another.
struct TransportStep {
  const PlacedMesh& before;
  const PlacedMesh& after;
  /// At the end of the step; negative where no water may go.
  std::span<const std::int32_t> ranks;
  /// Signed distances of the solid at the vertices at both ends, m; empty where there is none.
  std::span<const double> distance_before, distance_after;
  /// Volume that tetrahedra may hold at the end, m^3.
  std::span<const double> capacity;
  double dt;
  TetTrace trace;
  SampleOptions samples;
  /// With exact overlaps: water lies below a plane in each partly filled tetrahedron, and not everywhere in it.
  bool planes;
  /// Whether water leaves across faces without a neighbour; else they are walls.
  bool open_boundary;
};

/// A point of a tetrahedron that was traced out of the mesh, and the volume that it may bring in.
struct OutsidePoint {
  mesh::Point position;
  double volume;
  std::int32_t tet;
};

/// How much was asked of a mesh in a step: points located, and overlaps of two tetrahedra.
struct TransportCount {
  Index points = 0;
  Index overlaps = 0;
};

class WaterTransport {
 public:
  WaterTransport(const TetGraph& graph, Quantum quantum) : graph_(graph), quantum_(quantum), reach_(graph) {}

  /// Stage 1: finds the tetrahedra of the step and what they request. Changes nothing. With `outside`, points beyond the mesh are
  /// kept; `boundary` says where water comes from there.
  void request(const TetWater& water, const TransportStep& step, const WetBoundary& boundary, bool outside);

  /// Stage 2: gives each what it gets. Afterwards the water that is left in its old place is not part of `water`.
  void deliver(const TetWater& water);

  /// Stage 3: brings what is left to where it flows. What leaves the mesh, or ends in a disabled tetrahedron of an open one,
  /// goes to `left`. Walls stop what comes to them; returns the change of its momentum over density, m^4/s.
  mesh::Point forward(const TetWater& water, const TransportStep& step, std::vector<LeftWater>& left, Workspace& workspace);

  /// What tetrahedra would have got in stage 2 if requests were overlaps: of each donor the part of its water that lies in what
  /// was asked of it, m^3. Random points ask donors for more than there is and others for less, so that some get less than that.
  void expected(std::span<const std::int32_t> tets, const TransportStep& step, std::span<double> volume) const;

  /// Points beyond the mesh, in a fixed order.
  const std::vector<OutsidePoint>& outside_points() const { return outside_; }

  /// What the last request, and the forward transport since, have cost.
  const TransportCount& count() const { return count_; }

  const TetReach& reach() const { return reach_; }
  /// Volume requested from the donors, of the tetrahedra with water in `reach`.
  std::span<const double> requested() const { return requested_; }
  /// What the donors have kept after stage 2.
  std::span<const double> remainder() const { return remainder_; }
  /// Momentum over density of what they have kept, m^4/s.
  mesh::Point remaining_momentum() const;
  /// The volume that tetrahedra have requested from donors: receiver, donor, volume of each request.
  template <class F>
  void for_requests(F&& f) const {
    for (Index s = 0; s < reach_.size(); ++s)
      for_requests_of(s, [&](std::size_t donor, double volume) { f(reach_.tets()[s], reach_.tets()[donor], volume); });
  }

  std::size_t nbytes() const;

 private:
  /// Tetrahedra of the list whose requests and parcels are collected in one piece.
  static constexpr Index chunk = 256;

  /// Calls f(slot of the donor, volume) for the requests of a tetrahedron.
  template <class F>
  void for_requests_of(Index slot, F&& f) const {
    const auto s = static_cast<std::size_t>(slot);
    const RequestList& list = requests_[slot / chunk];
    const auto end = static_cast<std::size_t>(request_end_[s]);
    for (std::size_t i = slot % chunk == 0 ? 0 : static_cast<std::size_t>(request_end_[s - 1]); i < end; ++i)
      f(list.donor(i), list.volume(i));
  }
  /// A tetrahedron where it is and where it is traced to, m; where its way begins in the mesh that it is traced to; whether a
  /// solid may be in the way, and how often to look for it, m.
  struct Traced {
    std::array<mesh::Point, 4> x, y, start;
    bool near_solid = false;
    double look = 0;
  };
  Traced traced_back(std::int32_t slot, const TransportStep& step, NearLocation& before) const;
  Index request_by_points(std::int32_t slot, const SampleOptions& samples, const TransportStep& step, NearLocation& before,
                          RequestList& list, std::vector<OutsidePoint>* outside) const;
  void request_by_overlap(std::int32_t slot, const TransportStep& step, NearLocation& before, OverlapSearch& search,
                          RequestList& list, std::vector<OutsidePoint>* outside) const;
  void forward_by_overlap(std::int32_t slot, const TransportStep& step, const Traced& traced, NearLocation& after,
                          OverlapSearch& search, ParcelList& parcels, std::vector<LeftWater>& gone);
  void count_pieces(std::size_t pieces);
  bool all_alike(std::int32_t slot, const TransportStep& step) const;
  void find_planes(const TetWater& water, const TransportStep& step);
  bool gives_all(std::size_t donor) const {
    return requested_[donor] > 0 && requested_[donor] >= old_volume_[donor] - debris_quanta * quantum_.size();
  }

  /// A donor that lacks no more requests than this is emptied, quanta.
  static constexpr double debris_quanta = 64;

  const TetGraph& graph_;
  Quantum quantum_;
  TetReach reach_;
  /// Requests of pieces of the list, and where those of each tetrahedron end in its piece.
  std::vector<RequestList> requests_;
  std::vector<std::int32_t> request_end_;
  /// Of donors, by slot: volume and velocity before the step, requests, what has been given or is left, the last to request.
  std::vector<double> old_volume_, requested_, remainder_;
  /// Where the water of a donor is, with planes; normals of length 0 where it is everywhere.
  std::vector<mesh::HalfSpace> planes_;
  std::vector<std::int32_t> last_;
  std::vector<std::vector<OutsidePoint>> outside_pieces_;
  std::vector<OutsidePoint> outside_;
  Parcels parcels_;
  LeftWaters left_;
  std::vector<mesh::Point> impulses_;
  std::vector<TransportCount> counts_;
  TransportCount count_;
};

}  // namespace meniscus::fluids
