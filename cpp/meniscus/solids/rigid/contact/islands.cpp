#include "meniscus/solids/rigid/contact/islands.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::solids {

void Islands::begin(Index bodies) {
  parent_.resize(bodies);
  std::iota(parent_.begin(), parent_.end(), 0);
  held_.assign(parent_.size(), 0);
}

std::int32_t Islands::root(std::int32_t a) {
  auto* const p = parent_.data();
  while (p[a] != a) a = p[a] = p[p[a]];
  return a;
}

void Islands::join(std::int32_t a, std::int32_t b) {
  const std::int32_t ra = root(a), rb = root(b);
  // The lowest body names the island.
  parent_[std::max(ra, rb)] = std::min(ra, rb);
}

Index Islands::sleep(std::span<const std::uint8_t> moves, std::span<const std::uint8_t> free, std::span<double> quiet,
                     double after, std::span<std::uint8_t> asleep) {
  constexpr std::uint8_t held = 1, restless = 2;
  least_.assign(parent_.size(), std::numeric_limits<double>::infinity());
  may_.assign(parent_.size(), 0);
  Index islands = 0;
  for (std::size_t i = 0; i < parent_.size(); ++i) {
    if (!moves[i]) continue;
    const auto r = static_cast<std::size_t>(root(static_cast<std::int32_t>(i)));
    least_[r] = std::min(least_[r], quiet[i]);
    may_[r] = static_cast<std::uint8_t>(may_[r] | (held_[i] ? held : 0) | (free[i] ? 0 : restless));
    islands += r == i;
  }
  for (std::size_t i = 0; i < parent_.size(); ++i) {
    asleep[i] = 0;
    if (!moves[i]) continue;
    const auto r = static_cast<std::size_t>(root(static_cast<std::int32_t>(i)));
    // Who has been touched by something that moves begins to be quiet with it.
    quiet[i] = least_[r];
    asleep[i] = least_[r] >= after && ((may_[r] & held) || !(may_[r] & restless));
  }
  return islands;
}

}  // namespace meniscus::solids
