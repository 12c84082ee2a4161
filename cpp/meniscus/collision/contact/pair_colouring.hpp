/// Colours of pairs of elements such that pairs of one colour have no yielding node in common.
///
/// Pairs take the lowest colour that is free at all of their nodes, one after the other. So the colours depend on the pairs and
/// their order alone, and a node with many pairs costs as many colours, but no time elsewhere.
#pragma once

#include "meniscus/collision/contact/contact_nodes.hpp"
#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

class PairColouring {
 public:
  /// Colours pairs of vertices. Nodes of infinite mass may be shared, since nothing changes them.
  void colour(std::span<const Stencil> pairs, const ContactNodes& nodes);

  /// Of each pair.
  std::span<const std::int32_t> colours() const { return colours_; }
  /// Number of pairs of each colour.
  std::span<const Index> counts() const { return counts_; }
  Index nbytes() const;

 private:
  std::vector<std::int32_t> colours_;
  std::vector<Index> counts_;
  /// Colours in use at each node, 64 at a time.
  std::vector<std::uint64_t> taken_;
  /// Pairs for which none of these is free.
  std::vector<std::int32_t> waiting_;
};

}  // namespace meniscus::collision
