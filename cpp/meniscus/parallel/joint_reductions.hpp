/// Reductions of several numbers over all blocks in the rounds of one.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <initializer_list>
#include <span>

namespace meniscus::parallel {

/// Collective: every count becomes that of all blocks together.
void add_up(Communicator& communicator, std::initializer_list<Index*> counts);

/// Collective: every value becomes the largest one that a block has there. No value is NaN.
void global_maxima(Communicator& communicator, std::span<double> values);

}  // namespace meniscus::parallel
