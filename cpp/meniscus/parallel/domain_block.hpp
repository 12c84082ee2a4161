/// Decomposition of a domain into blocks: boxes of cells between cuts across the axes, one block for each process.
#pragma once

#include "meniscus/core/types.hpp"

#include <optional>
#include <vector>

namespace meniscus::parallel {

/// The index in [0, n) to which an index of a periodic axis of n cells is an image.
constexpr Index image_in_period(Index i, Index n) { return (i % n + n) % n; }

/// One block: its position in the domain, and the owners of the cells beyond its sides.
template <int D>
struct DomainBlock {
  /// Neighbour number for a side of the domain.
  static constexpr int none = -1;

  Coord<D> domain{};               ///< cells of the whole domain per axis
  std::array<bool, D> periodic{};  ///< axes around which the domain closes
  Coord<D> first{};                ///< global coordinates of the first cell
  Coord<D> shape{};                ///< cells of the block per axis
  int number = 0;
  /// Number of the block beyond each side; side 2 * axis is the lower, 2 * axis + 1 the upper one. Across a periodic axis that is
  /// not cut, the block is its own neighbour.
  std::array<int, 2 * D> neighbour{};

  /// Whether the cells beyond a side belong to a block (perhaps this one), and not to the boundary of the domain.
  bool shared(int axis, int upper) const { return neighbour[2 * axis + upper] != none; }
  bool shared(int axis) const { return shared(axis, 0) || shared(axis, 1); }
  /// Whether the block is its own neighbour along the axis.
  bool own_neighbour(int axis) const { return neighbour[2 * axis] == number; }
  /// Whether the cells beyond a side belong to another block.
  bool shared_with_another(int axis, int upper) const { return shared(axis, upper) && !own_neighbour(axis); }
  /// Whether other blocks own cells along the axis.
  bool cut(int axis) const {
    const Index a = axis;
    return shape[a] != domain[a];
  }
  bool cut() const { return shape != domain; }

  /// Position of cell `i` of an axis, counted from the first of the block: around the axis if the block is its own neighbour,
  /// among the ghosts beyond a side shared with another block, nowhere beyond a side of the domain.
  std::optional<Index> image(int axis, Index i) const {
    const Index n = shape[axis];
    if (i >= 0 && i < n) return i;
    if (own_neighbour(axis)) return image_in_period(i, n);
    return shared(axis, i >= n) ? std::optional(i) : std::nullopt;
  }
  /// The same, but beyond a side of the domain the cell next to it.
  Index nearest(int axis, Index i) const { return image(axis, i).value_or(i < 0 ? 0 : shape[axis] - 1); }

  bool operator==(const DomainBlock&) const = default;
};

/// The only block of a domain.
template <int D>
DomainBlock<D> whole_domain(const Coord<D>& shape, const std::array<bool, D>& periodic);

/// Blocks in C order of their positions, from the numbers of cells along each axis. Throws InvalidArgument where the numbers are
/// not positive or do not add up to the shape.
template <int D>
std::vector<DomainBlock<D>> cut_domain(const Coord<D>& shape, const std::array<bool, D>& periodic,
                                       const std::array<std::vector<Index>, D>& cells);

}  // namespace meniscus::parallel
