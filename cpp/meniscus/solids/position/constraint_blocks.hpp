/// Constraints of one kind in blocks of sixteen, ordered by colours: constraints of a colour have no node that moves in common,
/// so that they can be projected in parallel, sixteen at a time, with the bits of the serial order: colour by colour, within a
/// colour as they were given.
///
/// Source: Müller, Stam, James and Thürey 2008, section 5.3 (Gauss-Seidel); colours and blocks are ours.
#pragma once

#include "meniscus/solids/position/position_nodes.hpp"

#include <utility>
#include <vector>

namespace meniscus::solids {

inline constexpr int constraint_lanes = 16;

/// The order of constraints: which stand in which block, and where colours begin.
struct ConstraintOrder {
  /// Of each block and lane the number of the constraint; -1 in lanes that are not used.
  std::vector<std::int32_t> items;
  /// First block of each colour, and the end.
  std::vector<Index> colours;
};

/// Colours constraints of `corners` nodes each (rows of `nodes`), greedily in their order; nodes that `fixed` marks may be
/// shared.
ConstraintOrder colour_constraints(std::span<const std::int32_t> nodes, int corners, std::span<const std::uint8_t> fixed);

template <class T, int Corners, int Values>
struct ConstraintBlock {
  std::int32_t node[Corners][constraint_lanes];
  T value[Values][constraint_lanes];
  T multiplier[constraint_lanes];
};

/// Constraints of `Corners` nodes with `Values` numbers each.
template <class T, int Corners, int Values>
class ConstraintBlocks {
 public:
  using Block = ConstraintBlock<T, Corners, Values>;

  /// `nodes` and `values` are rows of the constraints.
  ConstraintBlocks(std::span<const std::int32_t> nodes, std::span<const T> values, std::span<const std::uint8_t> fixed)
      : order_(colour_constraints(nodes, Corners, fixed)), blocks_(order_.items.size() / constraint_lanes) {
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (std::size_t l = 0; l < constraint_lanes; ++l) {
        // Lanes without a constraint repeat the first, so that they compute something harmless; nothing is written for them.
        const std::int32_t item = order_.items[b * constraint_lanes + l];
        const Index i = item >= 0 ? item : order_.items[b * constraint_lanes];
        for (std::size_t k = 0; k < Corners; ++k) blocks_[b].node[k][l] = nodes[i * Corners + k];
        for (std::size_t v = 0; v < Values; ++v) blocks_[b].value[v][l] = values[i * Values + v];
        blocks_[b].multiplier[l] = 0;
      }
  }

  Index size() const { return static_cast<Index>(order_.colours.size()) - 1; }
  std::span<Block> blocks() { return blocks_; }
  std::span<const Block> blocks() const { return blocks_; }
  /// Blocks of a colour: first and end.
  std::pair<Index, Index> colour(Index c) const { return {order_.colours[c], order_.colours[static_cast<std::size_t>(c) + 1]}; }
  /// Constraints in a block.
  int lanes(Index b) const {
    int n = 0;
    while (n < constraint_lanes && order_.items[b * constraint_lanes + n] >= 0) ++n;
    return n;
  }
  /// The constraint of a lane, or -1.
  std::int32_t item(Index b, int lane) const { return order_.items[b * constraint_lanes + lane]; }
  void clear_multipliers() {
    for (Block& b : blocks_) std::fill_n(b.multiplier, constraint_lanes, T(0));
  }
  Index nbytes() const {
    return static_cast<Index>(blocks_.capacity() * sizeof(Block) + order_.items.capacity() * sizeof(std::int32_t) +
                              order_.colours.capacity() * sizeof(Index));
  }

 private:
  ConstraintOrder order_;
  std::vector<Block> blocks_;
};

}  // namespace meniscus::solids
