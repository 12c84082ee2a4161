/// Items by the rows that they belong to, as one array with the begin of each row: elements at each node, bodies in each cell.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace meniscus::numerics {

/// Takes start[i + 1] as the number of items of row i and turns it into the begins of rows; returns the number of items.
template <class I>
I starts_of_counts(std::span<I> start) {
  I sum = start[0] = 0;
  for (I& s : start.subspan(1)) s = sum += s;
  return sum;
}

/// Row i becomes items[start[i]] to items[start[i + 1] - 1], in the order in which they come. `each_item(add)` is called twice,
/// to count and to place, and calls add(row, item) for all of them. The arrays keep their memory; there is no other.
template <class I, class Item, class EachItem>
void list_by_rows(Index rows, std::vector<I>& start, std::vector<Item>& items, EachItem&& each_item) {
  start.assign(static_cast<std::size_t>(rows) + 1, 0);
  each_item([&](auto row, const auto&) { ++start[static_cast<std::size_t>(row) + 1]; });
  items.resize(starts_of_counts<I>(start));
  // Begins are counted up to the ends, which are the begins of the next rows.
  each_item([&](auto row, const auto& item) { items[start[row]++] = item; });
  std::move_backward(start.begin(), start.end() - 1, start.end());
  start[0] = 0;
}

}  // namespace meniscus::numerics
