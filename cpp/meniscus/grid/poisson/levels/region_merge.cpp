// Regions that reach through several blocks of a domain.
#include "meniscus/grid/poisson/poisson_regions.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::grid {

/// Lists pairs of regions that touch each other across the lower sides of the block, which neighbours share.
template <int D>
void PoissonRegions<D>::list_contacts(const FaceMatrix<double, D>& a, Block<Index>& labels) {
  const CellLayout<D>& layout = a.layout;
  contacts_.clear();
  layout.halo.exchange(labels.data());
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    if (!layout.shared(d, 0) || layout.halo.block().own_neighbour(d)) continue;
    Coord<D> n = layout.cells;
    n[axis] = 1;
    for (Index i = 0; i < product<D>(n); ++i) {
      Coord<D> c;
      Index rest = i;
      for (std::size_t k = D; k-- > 0; rest /= n[k]) c[k] = rest % n[k];
      const Index at = layout.index(c);
      const std::array<Index, 2> pair{labels[at - layout.strides[axis]], labels[at]};
      if (pair[0] < 0 || pair[1] < 0 || !(a.face(d, at) > 0)) continue;
      if (contacts_.empty() || contacts_.back() != pair) contacts_.push_back(pair);
    }
  }
  std::sort(contacts_.begin(), contacts_.end());
  contacts_.erase(std::unique(contacts_.begin(), contacts_.end()), contacts_.end());
}

template <int D>
void PoissonRegions<D>::join_blocks(const FaceMatrix<double, D>& a) {
  const CellLayout<D>& layout = a.layout;
  parallel::Communicator& communicator = layout.halo.communicator();
  const Index before = parallel::sum_before(communicator, static_cast<Index>(regions_.size()));
  {
    // Not kept: as large as a vector of the solve.
    Block<Index> labels(layout.size);
    std::fill(labels.begin(), labels.end(), Index{-1});
    for (const Interval& u : intervals_) std::fill_n(labels.data() + u.index, u.count, before + u.region);
    list_contacts(a, labels);
  }

  const std::vector<PoissonRegion<D>> parts = parallel::gather_lists(communicator, regions_);
  sets_.reset(static_cast<Index>(parts.size()));
  for (const auto& [x, y] : parallel::gather_lists(communicator, contacts_)) sets_.join(x, y);

  std::vector<PoissonRegion<D>> joined(parts.size());
  std::vector<Index> roots;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Index r = sets_.root(static_cast<Index>(k));
    PoissonRegion<D>& whole = joined[r];
    if (r == static_cast<Index>(k)) {
      roots.push_back(r);
      whole = parts[k];
      continue;
    }
    whole.cells += parts[k].cells;
    whole.closed &= parts[k].closed;
    whole.first_cell = std::min(whole.first_cell, parts[k].first_cell);
  }
  std::sort(roots.begin(), roots.end(), [&](Index x, Index y) { return joined[x].first_cell < joined[y].first_cell; });
  std::vector<Index> number(parts.size());
  regions_.clear();
  for (const Index r : roots) {
    number[r] = static_cast<Index>(regions_.size());
    regions_.push_back(joined[r]);
  }
  for (Interval& u : intervals_) u.region = number[sets_.root(before + u.region)];
}

#define MENISCUS_INSTANTIATE(D)                                                                \
  template void PoissonRegions<D>::list_contacts(const FaceMatrix<double, D>&, Block<Index>&); \
  template void PoissonRegions<D>::join_blocks(const FaceMatrix<double, D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
