/// Sides of the faces that a sheet cuts: where a cell of fluid meets a sheet, and what it takes from it.
///
/// The segment between two cell centres that a sheet crosses has two sides, each with the hit that its cell sees. The cell takes
/// the velocity of the sheet there, interpolated from the corners of a triangle (or segment), as the velocity of its face, and
/// gives back its pressure on the area of the face: the exact adjoint. Both are on the line between the centres, so that momentum
/// and angular momentum go over without loss.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, sections 4.3 and 5.1, with the conservative transfer in place of averages
/// over nodes.
#pragma once

#include "meniscus/solids/force.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace meniscus::coupling {

struct SheetSide {
  /// Number of the cell in C order; -1 where it is no unknown of the pressure.
  Index cell;
  std::int32_t axis;
  /// 1 below the face, -1 above it: the velocity of the sheet times this leaves the cell.
  double sign;
  /// m^2 (m in 2-D), and the fluid between the centre of the cell and the sheet, kg (kg/m).
  double area, mass;
  /// Corners of the element that is hit, in the numbering of all sheets, and their weights.
  std::array<std::int32_t, 3> nodes;
  std::array<double, 3> weights;

  double velocity(std::span<const mesh::Point> v) const {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += weights[k] * v[nodes[k]][axis];
    return sum;
  }
  /// Adds the impulse `value` along the axis to the corners.
  void add_impulse(double value, std::span<mesh::Point> f) const {
    for (std::size_t k = 0; k < 3; ++k) f[nodes[k]][axis] += weights[k] * value;
  }
};

/// Checks nodes and axes. Throws InvalidArgument that names the first side which is wrong.
void require_valid(std::span<const SheetSide> sides, int dimension, Index cells, Index nodes);

}  // namespace meniscus::coupling
