#include "meniscus/parallel/domain_block.hpp"

#include "meniscus/core/error.hpp"

#include <numeric>

namespace meniscus::parallel {

template <int D>
std::vector<DomainBlock<D>> cut_domain(const Coord<D>& shape, const std::array<bool, D>& periodic,
                                       const std::array<std::vector<Index>, D>& cells) {
  Coord<D> count;
  for (std::size_t d = 0; d < D; ++d) {
    for (const Index n : cells[d]) require(n >= 1, "every block needs at least 1 cell along axis ", d, ", got ", n);
    const Index sum = std::accumulate(cells[d].begin(), cells[d].end(), Index{0});
    require(sum == shape[d], "the blocks along axis ", d, " have ", sum, " cells, the domain has ", shape[d]);
    count[d] = static_cast<Index>(cells[d].size());
  }
  const Coord<D> strides = c_strides<D>(count);
  std::vector<DomainBlock<D>> blocks(product<D>(count));
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    DomainBlock<D>& b = blocks[n];
    b.domain = shape;
    b.periodic = periodic;
    b.number = static_cast<int>(n);
    auto rest = static_cast<Index>(n);
    for (std::size_t d = 0; d < D; ++d) {
      const Index place = rest / strides[d];
      rest %= strides[d];
      const auto& along = cells[d];
      b.first[d] = std::accumulate(along.begin(), along.begin() + place, Index{0});
      b.shape[d] = along[place];
      for (const int upper : {0, 1}) {
        const Index beside = place + (upper ? 1 : -1);
        const bool inside = beside >= 0 && beside < count[d];
        const Index other = inside ? beside : (beside + count[d]) % count[d];
        b.neighbour[2 * d + static_cast<std::size_t>(upper)] =
            inside || periodic[d] ? static_cast<int>(static_cast<Index>(n) + (other - place) * strides[d]) : DomainBlock<D>::none;
      }
    }
  }
  return blocks;
}

template <int D>
DomainBlock<D> whole_domain(const Coord<D>& shape, const std::array<bool, D>& periodic) {
  DomainBlock<D> b;
  b.domain = shape;
  b.periodic = periodic;
  b.shape = shape;
  for (std::size_t s = 0; s < 2 * D; ++s) b.neighbour[s] = periodic[s / 2] ? 0 : DomainBlock<D>::none;
  return b;
}

#define MENISCUS_INSTANTIATE(D)                                                                   \
  template DomainBlock<D> whole_domain<D>(const Coord<D>&, const std::array<bool, D>&);           \
  template std::vector<DomainBlock<D>> cut_domain<D>(const Coord<D>&, const std::array<bool, D>&, \
                                                     const std::array<std::vector<Index>, D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::parallel
