#include "meniscus/grid/particles/cell_numbering.hpp"

#include "meniscus/parallel/parcels.hpp"

#include <algorithm>

namespace meniscus::grid {

void number_by_cells(ParticleSet& particles, Index first, std::span<const Index> cells, std::span<const Index> starts,
                     parallel::Communicator& communicator) {
  if (communicator.size() == 1) return;
  struct Run {
    Index cell, count;
  };
  std::vector<Run> own;
  for (std::size_t k = 0; k < cells.size(); ++k) own.push_back({cells[k], starts[k + 1] - starts[k]});
  std::vector<Run> all = parallel::gather_lists(communicator, own);
  std::sort(all.begin(), all.end(), [](const Run& a, const Run& b) { return a.cell < b.cell; });
  const Index base = particles.next_id() - (particles.size() - first);
  auto* const ids = reinterpret_cast<Index*>(particles.ids().data.data()) + first;
  Index next = base;
  std::size_t k = 0;
  for (const Run& run : all) {
    if (k < cells.size() && run.cell == cells[k]) {
      for (Index i = 0; i < run.count; ++i) ids[starts[k] + i] = next + i;
      ++k;
    }
    next += run.count;
  }
  particles.set_next_id(next);
}

}  // namespace meniscus::grid
