#include "meniscus/parallel/binned_reductions.hpp"

#include "meniscus/parallel/recursive_doubling.hpp"

namespace meniscus::parallel {

void global_sums(Communicator& communicator, numerics::BinnedSum* sums, Index count) {
  reduce_over_blocks(communicator, sums, static_cast<std::size_t>(count),
                     [](numerics::BinnedSum a, const numerics::BinnedSum& b) {
                       a.add(b);
                       return a;
                     });
}

double global_sum(Communicator& communicator, const numerics::BinnedSum& sum) {
  numerics::BinnedSum all = sum;
  global_sums(communicator, &all, 1);
  return all.value();
}

}  // namespace meniscus::parallel
