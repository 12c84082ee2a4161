#include "counting_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long long> calls{0};

void* counted(std::size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes > 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}

void* counted(std::size_t bytes, std::align_val_t alignment) {
  calls.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(alignment);
  // aligned_alloc wants a multiple of the alignment.
  if (void* p = std::aligned_alloc(a, (bytes + a) / a * a)) return p;
  throw std::bad_alloc();
}

}  // namespace

long long meniscus::testing::new_calls() { return calls.load(std::memory_order_relaxed); }

// The forms that are not replaced here (nothrow, arrays) call these.
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, alignment); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
