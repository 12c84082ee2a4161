/// Nodes that hang together: connected parts of bodies.
#pragma once

#include "meniscus/core/types.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace meniscus::solids {

struct NodeGroups {
  /// `numbers`: of each node that of its group. `inverse_masses`: 1/kg. `in_tetrahedra`: whether a node is part of a tetrahedron.
  NodeGroups(std::span<const std::int32_t> numbers, std::span<const double> inverse_masses, std::span<const bool> in_tetrahedra);

  /// Which groups are of more than `carries` times the mass of these nodes of theirs, each of which may come several times.
  std::vector<std::uint8_t> stand_on(std::span<const std::int32_t> nodes, double carries) const;

  std::size_t nodes() const { return numbers.size(); }
  std::size_t groups() const { return totals.size(); }

  std::vector<std::int32_t> numbers;
  std::vector<double> inverse_masses;
  /// Of nodes, kg; 0 for those that nothing moves.
  std::vector<double> masses;
  /// Of groups, kg.
  std::vector<double> totals;
  /// Whether a group is a single node.
  std::vector<std::uint8_t> single;
  /// Whether a group is of tetrahedra, so that what is above a node presses on it.
  std::vector<std::uint8_t> solid;
};

}  // namespace meniscus::solids
