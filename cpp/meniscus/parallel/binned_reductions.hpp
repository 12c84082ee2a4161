/// Sums over all blocks of a domain whose terms have gone into bins.
#pragma once

#include "meniscus/numerics/summation/binned_sum.hpp"
#include "meniscus/parallel/communicator.hpp"

namespace meniscus::parallel {

/// The sum of what all blocks have added, bit-identical on any blocks.
double global_sum(Communicator& communicator, const numerics::BinnedSum& sum);

/// The same for `count` sums at once.
void global_sums(Communicator& communicator, numerics::BinnedSum* sums, Index count);

}  // namespace meniscus::parallel
