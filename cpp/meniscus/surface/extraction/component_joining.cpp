#include "meniscus/surface/extraction/component_joining.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace meniscus::surface {
namespace {

/// Two parts that have samples side by side, by their numbers among the parts of all blocks, from 1.
struct Meeting {
  std::int32_t lower, upper;
  auto operator<=>(const Meeting&) const = default;
};

/// Calls visit(index in the block) for the samples that the block owns, in C order.
template <int D, class Visit>
void for_each_owned_index(const grid::FieldLayout<D>& layout, Visit&& visit) {
  const Coord<D> extents = layout.extents();
  for (Index r = 0; r < product<D>(extents) / extents[D - 1]; ++r) {
    Coord<D> c = grid::row_start<D>(extents, r);
    bool own = true;
    for (int d = 0; d + 1 < D; ++d) own = own && c[d] >= layout.halo.first_owned(d);
    if (!own) continue;
    for (Index k = layout.halo.first_owned(D - 1); k < extents[D - 1]; ++k) {
      c[D - 1] = k;
      visit(c);
    }
  }
}

/// The meetings of own parts with those of the blocks below.
template <int D>
std::vector<Meeting> meetings(const grid::FieldLayout<D>& layout, const std::int32_t* labels, std::int32_t before, int sign,
                              Workspace& workspace) {
  const auto scratch = workspace.take<std::int32_t>(layout.storage_size());
  std::fill_n(scratch.data(), layout.storage_size(), 0);
  const grid::FieldView<std::int32_t, D> numbers = layout.view(scratch.data());
  const Coord<D> strides = c_strides<D>(layout.extents());
  for_each_owned_index<D>(layout, [&](const Coord<D>& c) {
    const std::int32_t own = sign * labels[dot<D>(c, strides)];
    *numbers.at(c) = own > 0 ? before + own : 0;
  });
  layout.halo.exchange(scratch.data());
  std::vector<Meeting> found;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    if (!layout.grid.block().cut(d) || !layout.grid.shared(d, 0)) continue;
    const Index first = layout.halo.first_owned(d);
    for_each_owned_index<D>(layout, [&](const Coord<D>& c) {
      if (c[a] != first) return;
      const std::int32_t upper = *numbers.at(c), lower = numbers.at(c)[-numbers.strides[a]];
      if (upper > 0 && lower > 0 && (found.empty() || found.back() != Meeting{lower, upper})) found.push_back({lower, upper});
    });
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

template <int D>
Index join_components(const grid::FieldLayout<D>& layout, std::int32_t* labels, Index count, int sign, Workspace& workspace) {
  if (!layout.grid.block().cut()) return count;
  parallel::Communicator& communicator = *layout.grid.communicator();
  const Index before = parallel::sum_before(communicator, count), total = parallel::global_sum(communicator, count);
  require(total <= std::numeric_limits<std::int32_t>::max(), "the level set has ", total, " parts in its blocks, at most ",
          std::numeric_limits<std::int32_t>::max(), " can be numbered");
  const Coord<D> strides = c_strides<D>(layout.extents());
  const Coord<D> domain = c_strides<D>(layout.stagger.extents(layout.grid.shape()));
  // Parts are numbered by their first samples, so that a new one is the next.
  std::vector<Index> first;
  for_each_owned_index<D>(layout, [&](const Coord<D>& c) {
    if (sign * labels[dot<D>(c, strides)] != static_cast<std::int32_t>(first.size()) + 1) return;
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) at += (layout.grid.first_cell()[d] + c[d]) * domain[d];
    first.push_back(at);
  });
  first = parallel::gather_lists(communicator, first);
  const std::vector<Meeting> met =
      parallel::gather_lists(communicator, meetings<D>(layout, labels, static_cast<std::int32_t>(before), sign, workspace));

  // In the order of their first samples, parts that meet are numbered by the first sample of them all.
  std::vector<std::int32_t> order(total), rank(total), number(total);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return first[a] < first[b]; });
  for (Index k = 0; k < total; ++k) rank[order[k]] = static_cast<std::int32_t>(k);
  const std::int32_t components = numerics::label_components(number, [&](auto&& unite) {
    for (const Meeting& m : met) unite(rank[m.lower - 1], rank[m.upper - 1]);
  });
  for_each_owned_index<D>(layout, [&](const Coord<D>& c) {
    std::int32_t& label = labels[dot<D>(c, strides)];
    if (sign * label > 0) label = sign * (number[rank[before + sign * label - 1]] + 1);
  });
  return components;
}

template Index join_components<2>(const grid::FieldLayout<2>&, std::int32_t*, Index, int, Workspace&);
template Index join_components<3>(const grid::FieldLayout<3>&, std::int32_t*, Index, int, Workspace&);

}  // namespace meniscus::surface
