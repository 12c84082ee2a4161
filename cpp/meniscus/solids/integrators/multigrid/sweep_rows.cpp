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

Index SweepRows::group(Workspace& workspace, const std::int32_t* bond, std::int32_t* label) const {
  const std::int32_t* const column = column_.data();
  // What is paired: nodes at first, then pairs of them, then pairs of these; each with its members, and the pair that it gets
  // into.
  const auto start_memory = workspace.take<Index>(size_ + 2);
  const auto member_memory = workspace.take<std::int32_t>(size_), pair_memory = workspace.take<std::int32_t>(size_),
             bonds_memory = workspace.take<std::int32_t>(size_);
  Index* const start = start_memory.data();
  std::int32_t *const member = member_memory.data(), *const pair = pair_memory.data(), *const bonds = bonds_memory.data();
  std::int32_t count = 0;
  for (Index i = 0; i < size_; ++i) label[i] = first(i) == end(i) ? -1 : count++;
  for (int round = 0; round < 3; ++round) {
    std::fill_n(start, count + 2, 0);
    for (Index i = 0; i < size_; ++i)
      if (label[i] >= 0) ++start[label[i] + 2];
    for (std::int32_t a = 0; a < count; ++a) start[a + 2] += start[a + 1];
    for (Index i = 0; i < size_; ++i)
      if (label[i] >= 0) member[start[label[i] + 1]++] = static_cast<std::int32_t>(i);
    std::fill_n(pair, count, -1);
    std::fill_n(bonds, count, 0);
    std::int32_t pairs = 0;
    for (std::int32_t a = 0; a < count; ++a) {
      if (pair[a] >= 0) continue;
      const auto each_partner = [&](auto&& visit) {
        for (Index m = start[a]; m < start[a + 1]; ++m)
          for (Index k = first(member[m]); k < end(member[m]); ++k)
            if (const std::int32_t b = label[column[k]]; b != a) visit(b, bond[k]);
      };
      each_partner([&](std::int32_t b, std::int32_t n) { bonds[b] += n; });
      std::int32_t free = -1, any = -1;
      const auto better = [&](std::int32_t b, std::int32_t than) {
        return than < 0 || bonds[b] > bonds[than] || (bonds[b] == bonds[than] && b < than);
      };
      each_partner([&](std::int32_t b, std::int32_t) {
        if (better(b, any)) any = b;
        if (pair[b] < 0 && better(b, free)) free = b;
      });
      each_partner([&](std::int32_t b, std::int32_t) { bonds[b] = 0; });
      if (free < 0 && any >= 0) {
        pair[a] = pair[any];
        continue;
      }
      pair[a] = pairs++;
      if (free >= 0) pair[free] = pair[a];
    }
    for (Index i = 0; i < size_; ++i)
      if (label[i] >= 0) label[i] = pair[label[i]];
    count = pairs;
  }
  return count;
}

}  // namespace meniscus::solids
