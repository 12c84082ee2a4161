#include "meniscus/solids/integrators/multigrid/group_hierarchy.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

constexpr Index finest_piece = 1024, coarse_piece = 256;
/// So few groups are not grouped further.
constexpr Index few = 8;

/// Calls f(a, b) for the coupled nodes of all forces.
template <class F>
void each_coupling(const BodyStep& step, F&& f) {
  step.each_force([&](const Force& force, const BodyInStep& b) {
    for (const auto& pair : force.coupled())
      f(static_cast<std::int32_t>(b.node(pair[0])), static_cast<std::int32_t>(b.node(pair[1])));
  });
}

/// Calls f(a, parts) for each group with the entries of the rows of its nodes, serially.
template <class F>
void each_entry(const GroupHierarchy::Level& fine, Index group, F&& f) {
  for (Index m = fine.member_start.data()[group]; m < fine.member_start.data()[group + 1]; ++m) {
    const std::int32_t i = fine.member.data()[m];
    for (Index k = fine.rows.first(i); k < fine.rows.end(i); ++k) f(i, k, fine.label.data()[fine.rows.columns()[k]]);
  }
}

}  // namespace

std::shared_ptr<const GroupHierarchy> GroupHierarchy::of(const BodyStep& step) {
  std::shared_ptr<const GroupHierarchy>& kept = step.bodies()[0].body->kept_groups();
  if (kept && kept->nodes_ == step.size()) {
    std::size_t next = 0;
    bool same = true;
    each_coupling(step, [&](std::int32_t a, std::int32_t b) {
      same = same && next < kept->pairs_.size() && kept->pairs_[next] == Ends{a, b};
      ++next;
    });
    if (same && next == kept->pairs_.size()) return kept;
  }
  kept.reset();
  kept = std::make_shared<const GroupHierarchy>(step);
  return kept;
}

GroupHierarchy::GroupHierarchy(const BodyStep& step) : nodes_(step.size()) {
  each_coupling(step, [&](std::int32_t a, std::int32_t b) { pairs_.push_back({a, b}); });
  if (pairs_.empty()) return;
  Level& finest = levels_[0];
  const Index entries = 2 * pairs();
  finest.rows = SweepRows(memory_, nodes_, entries, finest_piece);
  const std::span<Index> start = finest.rows.start();
  std::fill(start.begin(), start.end(), 0);
  // Number of entries two places on; then start[i + 1] is where the next entry of node i goes, and last, where those of the next
  // node begin.
  for (const Ends& pair : pairs_)
    for (const std::int32_t node : pair)
      if (node + 2 < std::ssize(start)) ++start[node + 2];
  for (std::size_t i = 2; i < start.size(); ++i) start[i] += start[i - 1];
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    for (std::size_t k = 0; k < 2; ++k) {
      const Index at = start[pairs_[p][k] + 1]++;
      finest.rows.columns()[at] = pairs_[p][1 - k];
      finest.rows.sources()[at] = static_cast<std::int32_t>(p);
    }
  finest.rows.order(memory_);
  // Nodes that share many partners are near each other, whatever couples them.
  finest.bond = memory_.take<std::int32_t>(entries);
  const auto seen_memory = memory_.take<std::int32_t>(nodes_);
  std::int32_t* const seen = seen_memory.data();
  const std::int32_t* const column = finest.rows.columns();
  std::fill_n(seen, nodes_, -1);
  for (Index i = 0; i < nodes_; ++i) {
    for (Index k = finest.rows.first(i); k < finest.rows.end(i); ++k) seen[column[k]] = static_cast<std::int32_t>(i);
    for (Index k = finest.rows.first(i); k < finest.rows.end(i); ++k) {
      std::int32_t common = 1;
      for (Index n = finest.rows.first(column[k]); n < finest.rows.end(column[k]); ++n) common += seen[column[n]] == i ? 1 : 0;
      finest.bond.data()[k] = common;
    }
  }
  depth_ = 1;
  while (depth_ < levels_.size() && coarsen(depth_ - 1)) ++depth_;
  // What was scratch.
  memory_.clear();
}

bool GroupHierarchy::coarsen(std::size_t level) {
  Level &fine = levels_[level], &coarse = levels_[level + 1];
  const Index n = fine.rows.size(), entries = fine.rows.entries();
  if (entries == 0 || (level > 0 && n <= few)) return false;
  fine.label = memory_.take<std::int32_t>(n);
  fine.groups = fine.rows.group(memory_, fine.bond.data(), fine.label.data());
  find_members(fine);
  join_rows(fine, coarse);
  return true;
}

void GroupHierarchy::find_members(Level& fine) {
  const Index n = fine.rows.size();
  fine.member_start = memory_.take<Index>(fine.groups + 2);
  fine.member = memory_.take<std::int32_t>(n);
  Index* const start = fine.member_start.data();
  std::fill_n(start, fine.groups + 2, 0);
  for (Index i = 0; i < n; ++i)
    if (const std::int32_t l = fine.label.data()[i]; l >= 0) ++start[l + 2];
  for (Index a = 2; a < fine.groups + 2; ++a) start[a] += start[a - 1];
  for (Index i = 0; i < n; ++i)
    if (const std::int32_t l = fine.label.data()[i]; l >= 0) fine.member.data()[start[l + 1]++] = static_cast<std::int32_t>(i);
}

/// The neighbours of each group, and the entries of the fine level that they consist of.
void GroupHierarchy::join_rows(Level& fine, Level& coarse) {
  const Index groups = fine.groups, most = fine.rows.entries();
  const auto place_memory = memory_.take<std::int32_t>(groups), found_memory = memory_.take<std::int32_t>(most);
  const auto count_memory = memory_.take<std::int32_t>(most);
  std::int32_t *const place = place_memory.data(), *const found = found_memory.data(), *const count = count_memory.data();
  std::fill_n(place, groups, -1);
  // The place of each neighbour in `found`, which is newer than `begin` for those of the present group.
  const auto first_memory = memory_.take<Index>(groups + 1);
  Index* const first = first_memory.data();
  Index inner = 0;
  first[0] = 0;
  for (Index a = 0; a < groups; ++a) {
    Index end = first[a];
    each_entry(fine, a, [&](std::int32_t, Index, std::int32_t other) {
      if (other == a) {
        ++inner;
        return;
      }
      if (place[other] < first[a]) {
        place[other] = static_cast<std::int32_t>(end);
        count[end] = 0;
        found[end++] = other;
      }
      ++count[place[other]];
    });
    first[a + 1] = end;
    for (Index e = first[a]; e < end; ++e) place[found[e]] = -1;
  }
  const Index entries = first[groups];
  coarse.rows = SweepRows(memory_, groups, entries, coarse_piece);
  std::copy_n(first, groups + 1, coarse.rows.start().data());
  std::copy_n(found, entries, coarse.rows.columns());
  for (Index e = 0; e < entries; ++e) coarse.rows.sources()[e] = static_cast<std::int32_t>(e);
  coarse.rows.order(memory_);
  fine.part_start = memory_.take<Index>(entries + 1);
  fine.inner_start = memory_.take<Index>(groups + 1);
  fine.part = memory_.take<Part>(most - inner);
  fine.inner = memory_.take<Part>(inner);
  coarse.bond = memory_.take<std::int32_t>(entries);
  fine.part_start.data()[0] = 0;
  for (Index e = 0; e < entries; ++e) fine.part_start.data()[e + 1] = fine.part_start.data()[e] + count[coarse.rows.sources()[e]];
  inner = 0;
  for (Index a = 0; a < groups; ++a) {
    fine.inner_start.data()[a] = inner;
    for (Index e = coarse.rows.first(a); e < coarse.rows.end(a); ++e) {
      place[coarse.rows.columns()[e]] = static_cast<std::int32_t>(e);
      count[e] = 0;
      coarse.bond.data()[e] = 0;
    }
    each_entry(fine, a, [&](std::int32_t i, Index k, std::int32_t other) {
      const Part part{i, static_cast<std::int32_t>(k)};
      if (other == a) {
        fine.inner.data()[inner++] = part;
        return;
      }
      const Index e = place[other];
      fine.part.data()[fine.part_start.data()[e] + count[e]++] = part;
      coarse.bond.data()[e] += fine.bond.data()[k];
    });
  }
  fine.inner_start.data()[groups] = inner;
  coarse.mirror = memory_.take<std::int32_t>(entries);
  for (Index a = 0; a < groups; ++a)
    for (Index e = coarse.rows.first(a); e < coarse.rows.end(a); ++e)
      for (Index other = coarse.rows.first(coarse.rows.columns()[e]); other < coarse.rows.end(coarse.rows.columns()[e]); ++other)
        if (coarse.rows.columns()[other] == a) coarse.mirror.data()[e] = static_cast<std::int32_t>(other);
}

}  // namespace meniscus::solids
