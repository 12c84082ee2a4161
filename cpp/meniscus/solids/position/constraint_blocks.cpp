#include "meniscus/solids/position/constraint_blocks.hpp"

#include "meniscus/numerics/graph/colouring.hpp"

namespace meniscus::solids {

ConstraintOrder colour_constraints(std::span<const std::int32_t> nodes, int corners, std::span<const std::uint8_t> fixed) {
  const Index k = corners;
  numerics::Colouring colouring;
  colouring.colour(std::ssize(nodes) / k, std::ssize(fixed), [&](Index i, auto&& visit) {
    for (const std::int32_t n : nodes.subspan(i * k, k))
      if (fixed[n] == 0) visit(n);
  });
  constexpr Index lanes = constraint_lanes;
  ConstraintOrder order;
  order.colours.push_back(0);
  for (Index c = 0; c < colouring.size(); ++c) {
    const auto of_colour = colouring.order().subspan(colouring.first()[c], colouring.first()[c + 1] - colouring.first()[c]);
    order.items.insert(order.items.end(), of_colour.begin(), of_colour.end());
    const Index blocks = (std::ssize(order.items) + lanes - 1) / lanes;
    order.items.resize(blocks * lanes, -1);
    order.colours.push_back(blocks);
  }
  return order;
}

}  // namespace meniscus::solids
