/// Least of the values of several threads.
#pragma once

#include <atomic>

namespace meniscus {

/// Sets `value` to `wanted` where that is lower.
inline void lower_to(std::atomic<double>& value, double wanted) {
  double seen = value.load(std::memory_order_relaxed);
  while (wanted < seen && !value.compare_exchange_weak(seen, wanted, std::memory_order_relaxed)) {
  }
}

}  // namespace meniscus
