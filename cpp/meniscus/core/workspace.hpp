/// Reusable scratch memory. A caller keeps a workspace from step to step, so that a repeated operator allocates nothing.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/core/namespaces.hpp"

#include <vector>

namespace meniscus::core {

/// A pool of blocks. `take` hands out a free block of sufficient size, or a new one; the lease returns it. One thread at a time.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  template <class T>
  class Lease {
   public:
    Lease() = default;
    Lease(Workspace* owner, std::size_t slot, T* data, Index size) : owner_(owner), slot_(slot), data_(data), size_(size) {}
    Lease(Lease&& o) noexcept { swap(o); }
    Lease& operator=(Lease&& o) noexcept {
      Lease moved(std::move(o));
      swap(moved);
      return *this;
    }
    ~Lease() {
      if (owner_) owner_->slots_[slot_].free = true;
    }
    T* data() const { return data_; }
    Index size() const { return size_; }
    explicit operator bool() const { return owner_ != nullptr; }

   private:
    void swap(Lease& o) {
      std::swap(owner_, o.owner_);
      std::swap(slot_, o.slot_);
      std::swap(data_, o.data_);
      std::swap(size_, o.size_);
    }
    Workspace* owner_ = nullptr;
    std::size_t slot_ = 0;
    T* data_ = nullptr;
    Index size_ = 0;
  };

  /// Memory for n values of T, not initialised.
  template <class T>
  Lease<T> take(Index n) {
    const std::size_t slot = find(n * static_cast<Index>(sizeof(T)));
    return Lease<T>(this, slot, reinterpret_cast<T*>(slots_[slot].block.data()), n);
  }

  /// Bytes held.
  Index bytes() const;

  /// Gives back every block that is not on loan.
  void clear();

 private:
  struct Slot {
    Block<std::byte> block;
    bool free = true;
  };
  std::size_t find(Index bytes);
  std::vector<Slot> slots_;
};

}  // namespace meniscus::core
