/// Loops over the groups of strands (included by kernels only).
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/hair/rod_group.hpp"

namespace meniscus::solids::hair {

/// Calls body(group, scratch, number) for all groups in parallel.
template <class Body>
void RodStrands::for_groups(Body&& body) const {
  pool_.prepare(std::min<Index>(groups(), core::num_threads()), most_slots_);
  core::parallel_for(0, groups(), 1, [&](Index begin, Index end) {
    auto scratch = pool_.borrow(most_slots_);
    for (Index n = begin; n < end; ++n) {
      const Group g = group(n);
      core::simd_dispatch([&] { body(g, *scratch, n); });
    }
    pool_.give_back(std::move(scratch));
  });
}

}  // namespace meniscus::solids::hair
