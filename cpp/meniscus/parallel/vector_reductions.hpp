/// Reductions of vectors over all blocks, element by element.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <algorithm>
#include <type_traits>

namespace meniscus::parallel {

/// Collective: values[i] = join of what all blocks have there, in the order of their numbers. All blocks have as many.
template <class T, class Join>
void combine_values(Communicator& communicator, std::vector<T>& values, Join&& join) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (communicator.size() == 1 || values.empty()) return;
  const std::size_t n = values.size();
  std::vector<T> all(n * static_cast<std::size_t>(communicator.size()));
  communicator.gather(values.data(), n * sizeof(T), all.data());
  std::copy_n(all.begin(), n, values.begin());
  for (std::size_t i = n; i < all.size(); ++i) values[i % n] = join(values[i % n], all[i]);
}

}  // namespace meniscus::parallel
