/// Topological distance of tetrahedra from a solid, and the ways outward.
///
/// Rank 0 are the tetrahedra that the surface of the solid cuts; each rank is next to the one before, across corners. Where a
/// part of the mesh has no cut tetrahedron, ranks count from those that are farthest from its boundary, so that higher ranks are
/// always nearer to the way out; a closed part without either has rank 0 everywhere.
///
/// Source: Lee 2018, section 3.3.1.
#pragma once

#include "meniscus/core/memory/joined_lists.hpp"
#include "meniscus/fluids/tet_vof/tet_graph.hpp"

namespace meniscus::fluids {

/// Ranks of tetrahedra that hold no water: inside of the solid, and disabled.
inline constexpr std::int32_t rank_inside = -1;
inline constexpr std::int32_t rank_disabled = -2;

/// What a tetrahedron is before ranks are counted.
enum class TetKind : std::uint8_t { open, cut, inside, disabled };

class TetRanks {
 public:
  explicit TetRanks(const TetGraph& graph);

  /// Counts the ranks, level by level, in parallel; the result does not depend on threads. `open_boundary`: whether water may
  /// leave across faces without a neighbour.
  void count(std::span<const TetKind> kinds, bool open_boundary, std::span<std::int32_t> ranks);

  std::int32_t highest() const { return highest_; }

  /// Marks the tetrahedra, open or cut, from which no way across faces leads to an open boundary of the mesh. Returns whether
  /// there are any.
  bool find_closed(std::span<const TetKind> kinds, bool open_boundary, std::span<std::uint8_t> closed);

  std::size_t nbytes() const { return nodes_.capacity() * 4 + (front_.capacity() + next_.capacity()) * 4; }

 private:
  template <class Visit>
  bool advance(Visit&& visit);
  std::int32_t spread(std::int32_t first, std::span<std::int32_t> ranks);

  const TetGraph& graph_;
  std::vector<std::int32_t> nodes_;
  std::vector<std::int32_t> front_, next_;
  JoinedLists<std::int32_t> lists_;
  std::int32_t highest_ = 0;
};

}  // namespace meniscus::fluids
