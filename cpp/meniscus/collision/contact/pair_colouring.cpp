#include "meniscus/collision/contact/pair_colouring.hpp"

#include <algorithm>
#include <bit>

namespace meniscus::collision {
namespace {

constexpr std::size_t word = 64;
constexpr std::int32_t open = -1;

template <class Visit>
void for_each_yielding_node(const ContactNodes& nodes, const Stencil& pair, Visit&& visit) {
  if (nodes.plain()) {
    for (const std::int32_t v : pair)
      if (nodes.inverse_mass(v) > 0) visit(static_cast<std::size_t>(v));
  } else {
    for (const std::int32_t v : pair)
      for (const NodeShare& s : nodes.shares(v))
        if (nodes.inverse_mass(s.node) > 0) visit(static_cast<std::size_t>(s.node));
  }
}

}  // namespace

void PairColouring::colour(std::span<const Stencil> pairs, const ContactNodes& nodes) {
  colours_.assign(pairs.size(), open);
  counts_.clear();
  std::int32_t base = 0;
  const auto try_pair = [&](std::size_t i) {
    std::uint64_t taken = 0;
    for_each_yielding_node(nodes, pairs[i], [&](std::size_t n) { taken |= taken_[n]; });
    const auto free = static_cast<std::size_t>(std::countr_one(taken));
    if (free == word) return false;
    for_each_yielding_node(nodes, pairs[i], [&](std::size_t n) { taken_[n] |= std::uint64_t{1} << free; });
    const std::size_t colour = static_cast<std::size_t>(base) + free;
    colours_[i] = static_cast<std::int32_t>(colour);
    if (colour >= counts_.size()) counts_.resize(colour + 1, 0);
    ++counts_[colour];
    return true;
  };
  const auto clear = [&] { taken_.assign(static_cast<std::size_t>(nodes.nodes()), 0); };
  waiting_.clear();
  clear();
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (!try_pair(i)) waiting_.push_back(static_cast<std::int32_t>(i));
  while (!waiting_.empty()) {
    base += static_cast<std::int32_t>(word);
    clear();
    std::erase_if(waiting_, [&](std::int32_t i) { return try_pair(static_cast<std::size_t>(i)); });
  }
}

Index PairColouring::nbytes() const {
  return static_cast<Index>((colours_.capacity() + waiting_.capacity()) * sizeof(std::int32_t) +
                            counts_.capacity() * sizeof(Index) + taken_.capacity() * sizeof(std::uint64_t));
}

}  // namespace meniscus::collision
