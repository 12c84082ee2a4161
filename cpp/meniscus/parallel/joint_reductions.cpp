#include "meniscus/parallel/joint_reductions.hpp"

#include "meniscus/parallel/recursive_doubling.hpp"

#include <algorithm>

namespace meniscus::parallel {

void add_up(Communicator& communicator, std::initializer_list<Index*> counts) {
  std::vector<Index> sums;
  for (const Index* count : counts) sums.push_back(*count);
  reduce_over_blocks(communicator, sums.data(), sums.size(), [](Index a, Index b) { return a + b; });
  auto sum = sums.begin();
  for (Index* count : counts) *count = *sum++;
}

void global_maxima(Communicator& communicator, std::span<double> values) {
  reduce_over_blocks(communicator, values.data(), values.size(), [](double a, double b) { return std::max(a, b); });
}

}  // namespace meniscus::parallel
