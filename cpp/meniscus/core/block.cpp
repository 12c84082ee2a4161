#include "meniscus/core/block.hpp"

#include "meniscus/core/machine_memory.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <sstream>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace meniscus::core {
namespace {
std::atomic<Index> allocations{0};
std::atomic<Index> live_bytes{0};

/// Blocks of at least one page of 2 MiB take such pages where the system has them: fewer page faults, and a sweep over several
/// arrays needs fewer entries of the page table than the processor remembers. What is left over has small pages, so that no more
/// memory is in use than asked for.
constexpr std::size_t large_page = std::size_t{2} << 20;

/// From this size on, blocks begin at different distances from the start of a page. Else entry i of all arrays would compete for
/// the same places in the caches.
constexpr std::size_t staggered = std::size_t{1} << 20;
std::size_t stagger(Index number) { return static_cast<std::size_t>(number % 32) * 13 * 64; }

/// Memory that cannot be had (becomes MemoryError in Python), with the amounts.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

void require_memory(std::size_t bytes) {
  if (bytes <= machine_memory()) return;
  std::ostringstream message;
  message.precision(3);
  message << "this needs a block of " << static_cast<double>(bytes) / 1e9 << " GB, and the machine has "
          << static_cast<double>(machine_memory()) / 1e9 << " GB";
  throw OutOfMemory(message.str());
}
}  // namespace

Index block_allocations() { return allocations.load(std::memory_order_relaxed); }
Index block_bytes() { return live_bytes.load(std::memory_order_relaxed); }

namespace detail {

std::shared_ptr<std::byte> allocate_block(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  require_memory(size);
  const Index number = allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t offset = size >= staggered ? stagger(number) : 0;
  const std::align_val_t alignment{size >= large_page ? large_page : 64};
  auto* base = static_cast<std::byte*>(::operator new(size + offset, alignment));
  live_bytes.fetch_add(static_cast<Index>(size), std::memory_order_relaxed);
#if defined(__linux__)
  // A wish; without it everything works the same.
  if (size >= large_page) madvise(base, (size + offset) / large_page * large_page, MADV_HUGEPAGE);
#endif
  return {base + offset, [size, offset, alignment](std::byte* q) {
            live_bytes.fetch_sub(static_cast<Index>(size), std::memory_order_relaxed);
            ::operator delete(q - offset, alignment);
          }};
}

}  // namespace detail
}  // namespace meniscus::core
