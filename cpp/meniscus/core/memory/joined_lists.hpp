/// Lists that the pieces of a parallel loop fill, one behind the other in the end: what a front, or a search, finds.
#pragma once

#include "meniscus/core/parallel.hpp"

#include <vector>

namespace meniscus::core {

/// Keeps its memory for the next time.
template <class T>
class JoinedLists {
 public:
  /// Calls visit(i, list) for i in [0, end), in parallel in pieces of `chunk`; `joined` then has what it has added to the lists,
  /// in the order of i. It may be a list that visit reads.
  template <class Visit>
  void fill(Index end, Index chunk, std::vector<T>& joined, Visit&& visit) {
    const auto pieces = static_cast<std::size_t>((end + chunk - 1) / chunk);
    if (pieces_.size() < pieces) pieces_.resize(pieces);
    parallel_for(0, end, chunk, [&](Index b, Index e) {
      auto& list = pieces_[b / chunk];
      list.clear();
      for (Index i = b; i < e; ++i) visit(i, list);
    });
    joined.clear();
    for (std::size_t p = 0; p < pieces; ++p) joined.insert(joined.end(), pieces_[p].begin(), pieces_[p].end());
  }

  std::size_t nbytes() const {
    std::size_t bytes = 0;
    for (const auto& list : pieces_) bytes += list.capacity() * sizeof(T);
    return bytes;
  }

 private:
  std::vector<std::vector<T>> pieces_;
};

}  // namespace meniscus::core
