/// Random domains and cuts that are the same on all blocks.
#pragma once

#include "meniscus/core/random.hpp"
#include "meniscus/parallel/domain_block.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::tests {

/// Integers that are the same on all blocks.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  /// One of 0 to n - 1.
  Index operator()(Index n) {
    const double u = CounterRandom(seed_, static_cast<std::uint64_t>(count_++), 0).uniform2(0)[0];
    return std::min(n - 1, static_cast<Index>(u * static_cast<double>(n)));
  }

 private:
  std::uint64_t seed_;
  Index count_ = 0;
};

/// A cut into so many blocks of `least` cells or some more, as a random product of numbers per axis.
template <int D>
std::array<std::vector<Index>, D> random_cut(Draw& draw, int blocks, Index least = 1) {
  std::array<int, D> factors;
  factors.fill(1);
  int rest = blocks;
  for (int p = 2; rest > 1; ++p)
    while (rest % p == 0) {
      factors[draw(D)] *= p;
      rest /= p;
    }
  std::array<std::vector<Index>, D> cells;
  for (std::size_t d = 0; d < D; ++d)
    for (int k = 0; k < factors[d]; ++k) cells[d].push_back((factors[d] > 1 ? least : 1) + draw(6));
  return cells;
}

/// A random domain, cut into blocks, and a random place of samples in its cells.
template <int D>
struct RandomDomain {
  Coord<D> shape{};
  std::array<bool, D> periodic{};
  std::array<int, D> on_side{};
  std::vector<parallel::DomainBlock<D>> blocks;

  /// `least`: cells of a block along an axis that is cut.
  RandomDomain(Draw& draw, int count, Index least = 1) {
    const auto cells = random_cut<D>(draw, count, least);
    for (std::size_t d = 0; d < D; ++d) {
      shape[d] = std::accumulate(cells[d].begin(), cells[d].end(), Index{0});
      periodic[d] = draw(2) == 1;
      on_side[d] = static_cast<int>(draw(2));
    }
    blocks = parallel::cut_domain<D>(shape, periodic, cells);
  }

  /// The number of a sample, the same for all its images. Around a periodic axis the last sample owns the place of the first one.
  Index number(const Coord<D>& global) const {
    Index id = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const Index n = shape[d], i = global[d] - (periodic[d] && on_side[d] ? 1 : 0);
      id = id * 101 + (periodic[d] ? (i % n + n) % n : i);
    }
    return id;
  }
};

}  // namespace meniscus::tests
