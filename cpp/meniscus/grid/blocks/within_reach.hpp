/// Work on points that may look at samples of other blocks, how far away only they find out.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/continuation.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::grid {

/// Collective where the grid is cut: calls body(i) for i in [0, n), in parallel, in pieces of `grain`. Those that throw
/// OutsideGhosts are called again after fetch(width), which obtains the samples of other blocks up to `width` beyond the block;
/// it is called on all blocks, with the double width each time. A body must change nothing that it reads.
template <int D, class Body, class Fetch>
void within_reach(const Grid<D>& grid, Index n, Index grain, Workspace& workspace, Body&& body, Fetch&& fetch) {
  if (!grid.block().cut()) {
    parallel_for(0, n, grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) body(i);
    });
    return;
  }
  const auto open = workspace.take<std::uint8_t>(n);
  std::fill_n(open.data(), n, std::uint8_t{1});
  for (Index width = 2 * ghost_width;; width *= 2) {
    std::atomic<bool> any{false};
    parallel_for(0, n, grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        if (!open.data()[i]) continue;
        try {
          body(i);
          open.data()[i] = 0;
        } catch (const OutsideGhosts&) {
          any.store(true, std::memory_order_relaxed);
        }
      }
    });
    if (!parallel::global_any(*grid.communicator(), any)) return;
    fetch(width);
  }
}

}  // namespace meniscus::grid
