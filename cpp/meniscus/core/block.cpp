#include "meniscus/core/block.hpp"

#include <algorithm>
#include <atomic>
#include <new>

namespace meniscus {
namespace {
std::atomic<Index> allocations{0};
std::atomic<Index> live_bytes{0};
constexpr std::align_val_t alignment{64};
}  // namespace

Index block_allocations() { return allocations.load(std::memory_order_relaxed); }
Index block_bytes() { return live_bytes.load(std::memory_order_relaxed); }

namespace detail {

std::shared_ptr<std::byte> allocate_block(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  auto* p = static_cast<std::byte*>(::operator new(size, alignment));
  allocations.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<Index>(size), std::memory_order_relaxed);
  return {p, [size](std::byte* q) {
            live_bytes.fetch_sub(static_cast<Index>(size), std::memory_order_relaxed);
            ::operator delete(q, alignment);
          }};
}

}  // namespace detail
}  // namespace meniscus
