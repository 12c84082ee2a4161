#include "meniscus/solids/position/constraint_blocks.hpp"

#include "meniscus/collision/contact/pair_colouring.hpp"

#include <numeric>

namespace meniscus::solids {

ConstraintOrder colour_constraints(std::span<const std::int32_t> nodes, int corners, std::span<const std::uint8_t> fixed) {
  const Index k = corners;
  const std::size_t items = nodes.size() / k;
  collision::PairColouring colouring;
  colouring.colour(items, fixed.size(), [&](std::size_t i, auto&& visit) {
    for (const std::int32_t n : nodes.subspan(i * k, k))
      if (fixed[n] == 0) visit(n);
  });
  constexpr std::size_t lanes = constraint_lanes;
  ConstraintOrder order;
  std::vector<std::size_t> place;
  std::size_t blocks = 0;
  for (const Index count : colouring.counts()) {
    order.colours.push_back(static_cast<Index>(blocks));
    place.push_back(blocks * lanes);
    blocks += (static_cast<std::size_t>(count) + lanes - 1) / lanes;
  }
  order.colours.push_back(static_cast<Index>(blocks));
  order.items.assign(blocks * lanes, -1);
  for (std::size_t i = 0; i < items; ++i) order.items[place[colouring.colours()[i]]++] = static_cast<std::int32_t>(i);
  return order;
}

}  // namespace meniscus::solids
