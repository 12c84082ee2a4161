/// Disjoint sets of the numbers 0 to n - 1 (union-find): which of them are connected, directly or by others.
///
/// The lowest member of a set is its root, so that roots, and numbers that are given in their order, do not depend on the order
/// in which members were joined. Paths are halved on the way (Tarjan and van Leeuwen 1984).
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

namespace meniscus::numerics {

/// The root of the set of i, where a root is its own parent.
template <class I>
I root_of(I* parent, I i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/// Joins the sets of a and b; returns their root. Without a branch, since whether the two have met before is a coin toss.
template <class I>
I unite(I* parent, I a, I b) {
  const I ra = root_of(parent, a), rb = root_of(parent, b);
  const I low = std::min(ra, rb);
  parent[std::max(ra, rb)] = low;
  return low;
}

/// The same while other threads join sets of the same forest; the roots at the end are the same for any of their orders.
template <class I>
I concurrent_root_of(I* parent, I i) {
  for (;;) {
    const I p = std::atomic_ref<I>(parent[i]).load(std::memory_order_relaxed);
    if (p == i) return i;
    // Whoever writes here writes an ancestor, so a lost write only makes the way longer.
    const I above = std::atomic_ref<I>(parent[p]).load(std::memory_order_relaxed);
    if (above != p) std::atomic_ref<I>(parent[i]).store(above, std::memory_order_relaxed);
    i = p;
  }
}

template <class I>
void concurrent_unite(I* parent, I a, I b) {
  for (;;) {
    a = concurrent_root_of(parent, a);
    b = concurrent_root_of(parent, b);
    if (a == b) return;
    if (a < b) std::swap(a, b);
    I expected = a;
    if (std::atomic_ref<I>(parent[a]).compare_exchange_strong(expected, b, std::memory_order_relaxed)) return;
  }
}

/// Numbers the sets of a forest from 0 in the order of their roots, and writes the number of its set over the parent of each
/// member; returns how many there are. Roots come before all other members, so one sweep finds every number.
template <class I>
I number_sets(std::span<I> parent) {
  I count = 0;
  for (Index i = 0; i < static_cast<Index>(parent.size()); ++i) {
    const I p = parent[i];
    parent[i] = p == static_cast<I>(i) ? count++ : parent[p];
  }
  return count;
}

/// Sets that own their memory, which is kept from one use to the next.
template <class I>
class DisjointSets {
 public:
  DisjointSets() = default;
  explicit DisjointSets(Index count) { reset(count); }

  /// Every number becomes a set of its own.
  void reset(Index count) {
    parent_.resize(count);
    std::iota(parent_.begin(), parent_.end(), I{0});
  }
  Index size() const { return static_cast<Index>(parent_.size()); }
  I root(I i) { return root_of(parent_.data(), i); }
  /// Joins the sets of a and b; returns their root.
  I join(I a, I b) { return unite(parent_.data(), a, b); }
  Index bytes() const { return static_cast<Index>(parent_.capacity() * sizeof(I)); }

 private:
  std::vector<I> parent_;
};

/// Numbers the connected components of label.size() items, in order of their first members; `join(unite)` calls unite(a, b) for
/// items that are connected. Returns the number of components.
template <class Join>
std::int32_t label_components(std::span<std::int32_t> label, Join&& join) {
  std::iota(label.begin(), label.end(), 0);
  join([&](std::int32_t a, std::int32_t b) { unite(label.data(), a, b); });
  return number_sets(label);
}

}  // namespace meniscus::numerics
