/// The way out of tetrahedra that have no neighbour of a higher rank across a face.
///
/// Source: Lee 2018, sections 3.3.1 and 3.3.3, figure 3.6. There the search is for higher ranks alone; at the highest rank of a
/// basin it would then lead out of the mesh past all the room above the water.
#pragma once

#include "meniscus/fluids/tet_vof/tet_ranks.hpp"

#include <algorithm>
#include <unordered_set>

namespace meniscus::fluids {

enum class WayOut : std::uint8_t { room, higher_rank, boundary, none };

/// A search across faces. Keeps its memory for the next.
class OutwardSearch {
 public:
  /// Finds the tetrahedra at the smallest number of steps across faces that have room; where none has, a higher rank; or lie at
  /// an open boundary of the mesh; ascending. Without `by_ranks`, ranks do not count. Tetrahedra inside of the solid are crossed
  /// only by a search that begins in one, disabled ones never.
  template <class HasRoom>
  WayOut run(const TetGraph& graph, std::span<const std::int32_t> ranks, std::int32_t from, bool open_boundary, bool by_ranks,
             HasRoom&& has_room) {
    const std::int32_t own = ranks[from];
    stay(from);
    if (open_boundary && own >= 0 && graph.at_boundary(from)) return WayOut::boundary;
    visited_.assign(1, from);
    known_.clear();
    for (std::size_t first = 0, end = 1; first < end; first = end, end = visited_.size()) {
      found_.clear();
      higher_.clear();
      for (std::size_t i = first; i < end; ++i)
        for (const std::int32_t n : graph.neighbours(visited_[i])) {
          if (n < 0 || n == from) continue;
          const std::int32_t r = ranks[n];
          if (r == rank_disabled || (r == rank_inside && own != rank_inside) || !is_new(n)) continue;
          visited_.push_back(n);
          if (r < 0) continue;
          if (has_room(n))
            found_.push_back(n);
          else if (by_ranks && r > own)
            higher_.push_back(n);
        }
      if (!found_.empty()) return done(WayOut::room);
      if (!higher_.empty()) return std::swap(found_, higher_), done(WayOut::higher_rank);
      for (std::size_t i = end; open_boundary && i < visited_.size(); ++i)
        if (ranks[visited_[i]] >= 0 && graph.at_boundary(visited_[i])) found_.push_back(visited_[i]);
      if (!found_.empty()) return done(WayOut::boundary);
    }
    return WayOut::none;
  }

  /// Finds a tetrahedron itself.
  void stay(std::int32_t t) { found_.assign(1, t); }
  std::span<const std::int32_t> found() const { return found_; }

 private:
  /// Tetrahedra that are remembered in a row before they are hashed.
  static constexpr std::size_t short_search = 256;

  WayOut done(WayOut way) {
    std::sort(found_.begin(), found_.end());
    return way;
  }

  bool is_new(std::int32_t t) {
    if (visited_.size() > short_search) {
      if (known_.empty()) known_.insert(visited_.begin(), visited_.end());
      return known_.insert(t).second;
    }
    bool known = false;
    for (const std::int32_t v : visited_) known = known | (v == t);
    return !known;
  }

  std::vector<std::int32_t> found_, higher_, visited_;
  std::unordered_set<std::int32_t> known_;
};

}  // namespace meniscus::fluids
