/// Columns of water under hulls: how high the hull is above them, and which way it pushes.
#pragma once

#include "meniscus/fluids/shallow/shallow_layout.hpp"

#include <span>
#include <vector>

namespace meniscus::fluids {

/// A column under a body: the height of the lowest point of the hull at its centre, m, and the direction (x, y, 1) in which a
/// pressure on the hull pushes, per area of the column.
struct HullCell {
  Index i = 0, j = 0;
  int body = -1;
  double roof = 0;
  double push_x = 0, push_y = 0;
  double head = 0;  ///< pressure over density and gravity, m
};

/// Finds the columns under closed meshes, cell centre by cell centre; where several bodies are above each other, the lowest.
class HullCells {
 public:
  HullCells(const ShallowLayout& layout, double spacing, std::array<double, 2> origin);

  void clear();
  /// Adds the underside of body `number`: vertices (n, 3) m, triangles (m, 3) counter-clockwise as seen from outside.
  void add(int number, std::span<const double> vertices, std::span<const std::int32_t> triangles);

  std::vector<HullCell>& cells() { return cells_; }
  const std::vector<HullCell>& cells() const { return cells_; }
  /// Number of the hull cell at a column; -1 where there is none.
  int at(Index i, Index j) const { return number_[layout_.at(i, j)]; }

 private:
  ShallowLayout layout_;
  double spacing_;
  std::array<double, 2> origin_;
  std::vector<HullCell> cells_;
  std::vector<int> number_;
};

}  // namespace meniscus::fluids
