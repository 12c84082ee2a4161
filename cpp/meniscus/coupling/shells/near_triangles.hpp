/// Lists of the triangles of a surface by cells whose corners are samples: of those that rays from a place to the samples around
/// it may meet, without a search.
#pragma once

#include "meniscus/collision/ray_casting/thick_surface.hpp"
#include "meniscus/grid/grid.hpp"

#include <optional>

namespace meniscus::coupling {

/// Lists for cells of samples at cell centres and on faces; with two dimensions those of a plane.
template <int D>
class NearTriangles {
 public:
  using Point = Vec<double, D>;

  explicit NearTriangles(const grid::Grid<D>& grid);

  /// `clearance`: of each cell, zero where the surface may be near; elsewhere nothing is listed.
  void find(const collision::ThickSurface& surface, const std::uint8_t* clearance);

  /// What ways within a box, m, may meet, if one of the cells of samples holds it.
  std::optional<std::span<const std::int32_t>> within(const Point& low, const Point& high) const;

  std::size_t bytes() const;

 private:
  /// Cells of samples of one stagger, those with triangles alone, row by row.
  struct Lattice {
    std::vector<std::int32_t> first_of_row;
    /// Along the last axis.
    std::vector<std::int32_t> place;
    /// Of its triangles; one more than there are cells.
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> slots;
  };
  /// What a part of the rows has found.
  struct Piece {
    std::vector<std::int32_t> cells_of_row, place, count, slots;
  };

  void find(const collision::ThickSurface& surface, const std::uint8_t* clearance, std::size_t stagger);
  /// The place of the lowest corner of a cell of samples, in half cells.
  static Index corner(std::size_t stagger, std::size_t axis, Index cell) { return 2 * cell + (stagger != axis); }

  grid::Grid<D> grid_;
  /// Half cells per m.
  double per_half_;
  /// Per axis, cells of samples with one beyond each side; the first of them is number -1.
  Coord<D> extents_;
  /// Those of the faces along each axis, then those of the centres.
  std::array<Lattice, D + 1> lattice_;
  std::vector<std::uint8_t> marked_rows_;
  std::vector<Piece> pieces_;
};

}  // namespace meniscus::coupling
