/// Short lists of numbers, one per vertex, in one piece of memory.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace meniscus::mesh {

/// A list that outgrows its room moves to the end of the memory, with twice the room.
class VertexLists {
 public:
  /// Empty lists with room for `room(v)` numbers each.
  template <class Room>
  void reset(Index vertices, Room&& room) {
    lists_.resize(vertices);
    std::size_t at = 0;
    for (Index v = 0; v < vertices; ++v) {
      const std::int32_t most = room(v);
      lists_[v] = {at, 0, most};
      at += most;
    }
    numbers_.resize(at);
  }

  void add_list() { lists_.push_back({numbers_.size(), 0, 0}); }
  void remove_last_list() { lists_.pop_back(); }
  Index lists() const { return static_cast<Index>(lists_.size()); }

  std::span<const std::int32_t> operator[](std::int32_t v) const {
    const List& list = lists_[v];
    const std::int32_t* const first = numbers_.data() + list.first;
    return {first, first + list.count};
  }

  void add(std::int32_t v, std::int32_t number) {
    List& list = lists_[v];
    if (list.count == list.room) {
      const std::size_t first = numbers_.size();
      list.room = std::max(8, 2 * list.room);
      numbers_.resize(first + list.room);
      std::copy_n(numbers_.begin() + static_cast<std::ptrdiff_t>(list.first), list.count,
                  numbers_.begin() + static_cast<std::ptrdiff_t>(first));
      list.first = first;
    }
    numbers_[list.first + list.count++] = number;
  }

  /// The last number takes the place of the one removed.
  void remove(std::int32_t v, std::int32_t number) {
    List& list = lists_[v];
    std::int32_t* const first = numbers_.data() + list.first;
    *std::find(first, first + list.count, number) = first[list.count - 1];
    --list.count;
  }

  Index nbytes() const {
    return static_cast<Index>(numbers_.capacity() * sizeof(std::int32_t) + lists_.capacity() * sizeof(List));
  }

 private:
  struct List {
    std::size_t first;
    std::int32_t count, room;
  };
  std::vector<List> lists_;
  std::vector<std::int32_t> numbers_;
};

}  // namespace meniscus::mesh
