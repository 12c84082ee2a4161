/// Stable parallel radix sort of keys with their positions. The result does not depend on the number of threads.
#pragma once

#include "meniscus/core/namespaces.hpp"
#include "meniscus/core/workspace.hpp"

namespace meniscus::core {

/// Sorts `keys` (n values in [0, end_key)) ascending and fills `order` with the former position of each; equal keys keep their
/// order.
void radix_sort(std::uint64_t* keys, Index* order, Index n, std::uint64_t end_key, Workspace& workspace);

}  // namespace meniscus::core
