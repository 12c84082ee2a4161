/// Record of changes of a mesh that is being edited, the last of which can be taken back.
#pragma once

#include "meniscus/core/types.hpp"

#include <vector>

namespace meniscus::mesh {

/// What changed.
enum class Change : std::int8_t { moved, new_vertex, removed_element, new_element };

/// `Vertex` is what an editor stores of a vertex.
template <class Vertex>
class EditJournal {
 public:
  struct Entry {
    Change change;
    std::int32_t which;
    /// Of vertices that moved.
    Vertex before;
  };

  void add(Change change, std::int32_t which, const Vertex& before) { entries_.push_back({change, which, before}); }

  /// Number of changes since the last `clear`.
  std::size_t size() const { return entries_.size(); }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }
  void clear() { entries_.clear(); }

  /// Calls revert(entry) for the changes since a mark, the last one first, and forgets them.
  template <class Revert>
  void undo(std::size_t mark, Revert&& revert) {
    while (entries_.size() > mark) {
      const Entry last = entries_.back();
      entries_.pop_back();
      revert(last);
    }
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace meniscus::mesh
