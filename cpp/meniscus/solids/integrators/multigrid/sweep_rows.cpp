#include "meniscus/solids/integrators/multigrid/sweep_rows.hpp"

#include <algorithm>

namespace meniscus::solids {

SweepRows::SweepRows(Workspace& workspace, Index nodes, Index entries, Index piece)
    : size_(nodes),
      piece_(piece),
      start_(workspace.take<Index>(nodes + 1)),
      split_(workspace.take<Index>(nodes)),
      colour_start_(workspace.take<Index>((nodes + piece - 1) / piece + 1)),
      column_(workspace.take<std::int32_t>(entries)),
      source_(workspace.take<std::int32_t>(entries)),
      piece_order_(workspace.take<std::int32_t>((nodes + piece - 1) / piece)) {}

void SweepRows::order(Workspace& workspace) {
  const Index pieces = (size_ + piece_ - 1) / piece_;
  const auto colour_memory = workspace.take<std::int32_t>(pieces), mark_memory = workspace.take<std::int32_t>(pieces + 1);
  std::int32_t* const colour = colour_memory.data();
  // The last piece that saw a colour beside it.
  std::int32_t* const mark = mark_memory.data();
  std::fill_n(mark, pieces + 1, -1);
  const std::int32_t* const column = column_.data();
  colours_ = 0;
  for (Index p = 0; p < pieces; ++p) {
    const Index end = start_.data()[std::min((p + 1) * piece_, size_)];
    for (Index k = start_.data()[p * piece_]; k < end; ++k)
      if (const Index other = column[k] / piece_; other < p) mark[colour[other]] = static_cast<std::int32_t>(p);
    std::int32_t c = 0;
    while (mark[c] == p) ++c;
    colour[p] = c;
    colours_ = std::max<Index>(colours_, c + 1);
  }
  Index* const first = colour_start_.data();
  std::fill_n(first, pieces + 1, 0);
  Index placed = 0;
  for (Index c = 0; c < colours_; ++c) {
    first[c] = placed;
    for (Index p = 0; p < pieces; ++p)
      if (colour[p] == c) piece_order_.data()[placed++] = static_cast<std::int32_t>(p);
  }
  first[colours_] = placed;
  parallel_for(0, pieces, 1, [&](Index begin, Index stop) {
    for (Index i = begin * piece_; i < std::min(stop * piece_, size_); ++i) {
      const Index mine = i / piece_;
      // Two fingers; the order within each part does not matter, but it is always the same.
      Index a = start_.data()[i], b = start_.data()[i + 1];
      while (a < b) {
        const Index j = column_.data()[a], other = j / piece_;
        if (other == mine ? j < i : colour[other] < colour[mine]) {
          ++a;
        } else {
          --b;
          std::swap(column_.data()[a], column_.data()[b]);
          std::swap(source_.data()[a], source_.data()[b]);
        }
      }
      split_.data()[i] = a;
    }
  });
}

Index SweepRows::aggregate(std::span<std::int32_t> label) const {
  constexpr std::int32_t open = -2;
  const std::int32_t* const column = column_.data();
  std::fill(label.begin(), label.end(), open);
  std::int32_t found = 0;
  // Nodes none of whose neighbours has a group gather theirs.
  for (Index i = 0; i < size_; ++i) {
    const Index at = i;
    if (first(i) == end(i)) {
      label[at] = -1;
      continue;
    }
    if (label[at] != open) continue;
    bool alone = true;
    for (Index k = first(i); k < end(i) && alone; ++k) alone = label[column[k]] == open;
    if (!alone) continue;
    label[at] = found;
    for (Index k = first(i); k < end(i); ++k) label[column[k]] = found;
    ++found;
  }
  // What is left has neighbours in groups of the first pass, and joins the lowest of these; marked until all have joined.
  for (Index i = 0; i < size_; ++i) {
    const Index at = i;
    if (label[at] != open) continue;
    std::int32_t lowest = found;
    for (Index k = first(i); k < end(i); ++k) {
      const std::int32_t l = label[column[k]];
      if (l >= 0 && l < lowest) lowest = l;
    }
    label[at] = -3 - lowest;
  }
  for (std::int32_t& l : label)
    if (l <= -3) l = -3 - l;
  return found;
}

}  // namespace meniscus::solids
