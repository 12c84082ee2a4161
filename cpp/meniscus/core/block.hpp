/// Reference-counted memory blocks, aligned to 64 bytes. Fields, particles and forces store their numbers in blocks. A NumPy view
/// shares the block, so it stays valid when its owner switches to a new one.
#pragma once

#include "meniscus/core/types.hpp"

#include <memory>
#include <type_traits>

namespace meniscus::core {

namespace detail {
std::shared_ptr<std::byte> allocate_block(std::size_t bytes);
}

/// Number of blocks allocated by this process so far (for tests that a repeated step allocates nothing).
Index block_allocations();

/// Bytes that are held by live blocks.
Index block_bytes();

template <class T>
class Block {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Block() = default;

  /// Memory for n values, not initialised.
  explicit Block(Index n) : size_(n), memory_(detail::allocate_block(static_cast<std::size_t>(n) * sizeof(T))) {}

  T* data() { return reinterpret_cast<T*>(memory_.get()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.get()); }
  Index size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](Index i) { return data()[i]; }
  const T& operator[](Index i) const { return data()[i]; }

  /// Shares ownership of the memory.
  const std::shared_ptr<std::byte>& memory() const { return memory_; }

 private:
  Index size_ = 0;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace meniscus::core
