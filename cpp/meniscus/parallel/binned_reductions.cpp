#include "meniscus/parallel/binned_reductions.hpp"

namespace meniscus::parallel {

void global_sums(Communicator& communicator, numerics::BinnedSum* sums, Index count) {
  if (communicator.size() == 1 || count == 0) return;
  static_assert(std::is_trivially_copyable_v<numerics::BinnedSum>);
  const auto n = static_cast<std::size_t>(count);
  const auto bytes = n * sizeof(numerics::BinnedSum);
  std::vector<numerics::BinnedSum> all(n * static_cast<std::size_t>(communicator.size()));
  communicator.gather(sums, bytes, all.data());
  for (std::size_t k = 0; k < n; ++k) {
    sums[k] = all[k];
    for (std::size_t at = n + k; at < all.size(); at += n) sums[k].add(all[at]);
  }
}

double global_sum(Communicator& communicator, const numerics::BinnedSum& sum) {
  numerics::BinnedSum all = sum;
  global_sums(communicator, &all, 1);
  return all.value();
}

}  // namespace meniscus::parallel
