/// Search for values that are NaN or infinite.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::core {

/// Index of the first of n values that is NaN or infinite, or -1. Parallel.
Index first_not_finite(const double* values, Index n);

}  // namespace meniscus::core
