#include "meniscus/core/workspace.hpp"

#include <algorithm>

namespace meniscus::core {

std::size_t Workspace::find(Index bytes) {
  // Best fit, so that a small request does not take the block a large one will need next.
  std::size_t best = slots_.size();
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (!slot.free || slot.block.size() < bytes) continue;
    if (best == slots_.size() || slot.block.size() < slots_[best].block.size()) best = s;
  }
  if (best == slots_.size()) slots_.push_back({Block<std::byte>(bytes), true});
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
