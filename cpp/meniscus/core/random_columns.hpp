/// Uniform random numbers for arrays of ids, drawn in parallel.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::core {

/// out[2 i] and out[2 i + 1] = the two numbers in [0, 1) of one draw for entity ids[i] at a step (see random.hpp). Parallel.
void draw_uniform(std::uint64_t seed, const Index* ids, Index n, std::uint32_t step, std::uint32_t draw, double* out);

}  // namespace meniscus::core
