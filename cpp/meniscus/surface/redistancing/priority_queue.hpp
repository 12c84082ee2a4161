/// Priority queue in the memory of a workspace.
#pragma once

#include "meniscus/core/workspace.hpp"

#include <algorithm>
#include <functional>

namespace meniscus::surface {

/// A binary heap of estimates, smallest first, in memory of a workspace that grows by doubling.
template <class T>
class PriorityQueue {
 public:
  struct Entry {
    T value;
    Index slot;
    bool operator>(const Entry& o) const { return value > o.value || (value == o.value && slot > o.slot); }
  };

  PriorityQueue(Workspace& workspace, Index capacity) : workspace_(workspace), memory_(workspace.take<Entry>(capacity)) {}

  bool empty() const { return count_ == 0; }
  void push(Entry e) {
    if (count_ == memory_.size()) {
      auto larger = workspace_.take<Entry>(2 * count_);
      std::copy_n(memory_.data(), count_, larger.data());
      memory_ = std::move(larger);
    }
    memory_.data()[count_++] = e;
    std::push_heap(memory_.data(), memory_.data() + count_, std::greater<>());
  }
  Entry pop() {
    std::pop_heap(memory_.data(), memory_.data() + count_, std::greater<>());
    return memory_.data()[--count_];
  }

 private:
  Workspace& workspace_;
  Workspace::Lease<Entry> memory_;
  Index count_ = 0;
};

}  // namespace meniscus::surface
