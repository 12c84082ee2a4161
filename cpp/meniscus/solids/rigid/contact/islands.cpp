#include "meniscus/solids/rigid/contact/islands.hpp"

#include <algorithm>

namespace meniscus::solids {

void Islands::begin(Index bodies) {
  sets_.reset(bodies);
  held_.assign(bodies, 0);
}

Index Islands::sleep(std::span<const std::uint8_t> moves, std::span<const std::uint8_t> free, std::span<double> quiet,
                     double after, std::span<std::uint8_t> asleep) {
  constexpr std::uint8_t held = 1, restless = 2;
  least_.assign(held_.size(), std::numeric_limits<double>::infinity());
  may_.assign(held_.size(), 0);
  Index islands = 0;
  for (std::int32_t i = 0; i < sets_.size(); ++i) {
    if (!moves[i]) continue;
    const std::int32_t r = root(i);
    least_[r] = std::min(least_[r], quiet[i]);
    may_[r] = static_cast<std::uint8_t>(may_[r] | (held_[i] ? held : 0) | (free[i] ? 0 : restless));
    islands += r == i;
  }
  for (std::int32_t i = 0; i < sets_.size(); ++i) {
    asleep[i] = 0;
    if (!moves[i]) continue;
    const std::int32_t r = root(i);
    // Who has been touched by something that moves begins to be quiet with it.
    quiet[i] = least_[r];
    asleep[i] = least_[r] >= after && ((may_[r] & held) || !(may_[r] & restless));
  }
  return islands;
}

}  // namespace meniscus::solids
