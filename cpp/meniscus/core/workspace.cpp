#include "meniscus/core/workspace.hpp"

#include <algorithm>

namespace meniscus::core {

std::size_t Workspace::find(Index bytes) {
  // Best fit, so that a small request does not take the block a large one will need next.
  const std::size_t none = slots_.size();
  std::size_t best = none, largest = none;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (!slot.free) continue;
    if (slot.block.size() >= bytes && (best == none || slot.block.size() < slots_[best].block.size())) best = s;
    if (largest == none || slot.block.size() > slots_[largest].block.size()) largest = s;
  }
  // Requests that grow from step to step must not leave a block behind each time: one that was nearly large enough makes room.
  if (best == none && largest != none && 4 * slots_[largest].block.size() >= 3 * bytes) {
    Block<std::byte> block(bytes + bytes / 8);
    slots_[largest].block = std::move(block);
    best = largest;
  } else if (best == none) {
    slots_.push_back({Block<std::byte>(bytes), true});
  }
  slots_[best].free = false;
  return best;
}

Index Workspace::bytes() const {
  Index n = 0;
  for (const Slot& s : slots_) n += s.block.size();
  return n;
}

void Workspace::clear() {
  // Leases remember their slot by number, so a slot is emptied, never erased.
  for (Slot& s : slots_)
    if (s.free) s.block = {};
}

}  // namespace meniscus::core
