#include "meniscus/collision/contact/pair_colouring.hpp"

namespace meniscus::collision {
namespace {

template <class Visit>
void for_each_yielding_node(const ContactNodes& nodes, const Stencil& pair, Visit&& visit) {
  if (nodes.plain()) {
    for (const std::int32_t v : pair)
      if (nodes.inverse_mass(v) > 0) visit(v);
  } else {
    for (const std::int32_t v : pair)
      for (const NodeShare& s : nodes.shares(v))
        if (nodes.inverse_mass(s.node) > 0) visit(s.node);
  }
}

}  // namespace

void PairColouring::colour(std::span<const Stencil> pairs, const ContactNodes& nodes) {
  colour(pairs.size(), static_cast<std::size_t>(nodes.nodes()),
         [&](std::size_t i, auto&& visit) { for_each_yielding_node(nodes, pairs[i], visit); });
}

Index PairColouring::nbytes() const {
  return static_cast<Index>((colours_.capacity() + waiting_.capacity()) * sizeof(std::int32_t) +
                            counts_.capacity() * sizeof(Index) + taken_.capacity() * sizeof(std::uint64_t));
}

}  // namespace meniscus::collision
