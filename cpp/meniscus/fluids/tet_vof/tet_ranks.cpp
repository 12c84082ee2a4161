#include "meniscus/fluids/tet_vof/tet_ranks.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::fluids {
namespace {

constexpr Index rank_chunk = 1024;
constexpr std::int32_t unknown = -3;

/// Sets a value that is `from` to `to`; whether this call did it.
bool claim(std::int32_t& value, std::int32_t from, std::int32_t to) {
  std::atomic_ref<std::int32_t> v(value);
  std::int32_t expected = from;
  return v.load(std::memory_order_relaxed) == from && v.compare_exchange_strong(expected, to, std::memory_order_relaxed);
}

}  // namespace

TetRanks::TetRanks(const TetGraph& graph) : graph_(graph) {}

/// Calls visit(tetrahedron, found) for those of the front, in parallel; what it adds to `found` is the next front. Whether there
/// is one.
template <class Visit>
bool TetRanks::advance(Visit&& visit) {
  lists_.fill(static_cast<Index>(front_.size()), rank_chunk, next_,
              [&](Index i, std::vector<std::int32_t>& found) { visit(front_[i], found); });
  std::swap(front_, next_);
  return !front_.empty();
}

/// Ranks all unknown tetrahedra that are reached from those of `front_`, whose rank is `first`. The highest rank.
std::int32_t TetRanks::spread(std::int32_t first, std::span<std::int32_t> ranks) {
  std::int32_t rank = first;
  // A vertex is claimed by one tetrahedron of this level, and then ranks all that are unknown around it. So the ranks do not
  // depend on who comes first, and each vertex is visited once.
  const auto visit = [&](std::int32_t t, std::vector<std::int32_t>& found) {
    for (const std::int32_t v : graph_.tet(t)) {
      if (!claim(nodes_[v], 0, 1)) continue;
      graph_.for_star(v, [&](std::int32_t beside) {
        if (claim(ranks[beside], unknown, rank + 1)) found.push_back(beside);
      });
    }
  };
  while (!front_.empty() && advance(visit)) ++rank;
  return rank;
}

void TetRanks::count(std::span<const TetKind> kinds, bool open_boundary, std::span<std::int32_t> ranks) {
  nodes_.assign(graph_.vertices(), 0);
  parallel_for(0, graph_.size(), rank_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const TetKind k = kinds[i];
      ranks[i] = k == TetKind::cut ? 0 : k == TetKind::inside ? rank_inside : k == TetKind::disabled ? rank_disabled : unknown;
    }
  });
  front_.clear();
  for (std::int32_t t = 0; t < graph_.size(); ++t)
    if (kinds[t] == TetKind::cut) front_.push_back(t);
  highest_ = spread(0, ranks);
  // Parts without cut tetrahedra: distance from the boundary first, then from the farthest ones. Here `ranks` holds the
  // distances as values below those that mean something else.
  std::vector<std::int32_t> left;
  for (std::int32_t t = 0; t < graph_.size(); ++t)
    if (ranks[t] == unknown) left.push_back(t);
  if (left.empty()) return;
  front_.clear();
  for (const std::int32_t t : left)
    if (open_boundary && graph_.at_boundary(t)) {
      ranks[t] = 0;
      front_.push_back(t);
    }
  const std::int32_t deepest = spread(0, ranks);
  for (const std::int32_t t : left) {
    std::int32_t& r = ranks[t];
    r = r == unknown ? 0 : deepest - r;
  }
  highest_ = std::max(highest_, deepest);
}

bool TetRanks::find_closed(std::span<const TetKind> kinds, bool open_boundary, std::span<std::uint8_t> closed) {
  const auto holds = [&](std::size_t t) { return kinds[t] == TetKind::open || kinds[t] == TetKind::cut; };
  front_.clear();
  for (std::int32_t t = 0; t < graph_.size(); ++t) {
    const Index i = t;
    closed[i] = holds(i) ? 1 : 0;
    if (closed[i] == 0 || !open_boundary || !graph_.at_boundary(t)) continue;
    closed[i] = 0;
    front_.push_back(t);
  }
  const auto visit = [&](std::int32_t t, std::vector<std::int32_t>& found) {
    for (const std::int32_t n : graph_.neighbours(t)) {
      if (n < 0) continue;
      std::atomic_ref<std::uint8_t> c(closed[n]);
      if (c.load(std::memory_order_relaxed) == 1 && c.exchange(0, std::memory_order_relaxed) == 1) found.push_back(n);
    }
  };
  while (!front_.empty()) advance(visit);
  return std::any_of(closed.begin(), closed.end(), [](std::uint8_t c) { return c != 0; });
}

}  // namespace meniscus::fluids
