#include "meniscus/core/finite_values.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <limits>

namespace meniscus::core {

Index first_not_finite(const double* values, Index n) {
  const auto finite = [&](Index i) { return std::abs(values[i]) <= std::numeric_limits<double>::max(); };
  const bool all = parallel_reduce(
      Index{0}, n, Index{8192}, true,
      [&](Index begin, Index end) {
        bool good = true;
        for (Index i = begin; i < end; ++i) good &= finite(i);
        return good;
      },
      [](bool p, bool q) { return p && q; });
  if (all) return -1;
  Index first = 0;
  while (finite(first)) ++first;
  return first;
}

}  // namespace meniscus::core
