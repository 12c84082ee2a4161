/// Thin walls: obstacles between samples, seen as answers to questions about straight ways.
///
/// A mask says which samples are hidden from everywhere. A wall that is thinner than a cell hides some samples from some points:
/// the answer belongs to pairs. Whoever knows the geometry derives from `ThinWalls`; transport and forces on grids see no more
/// than this. All answers err to one side: a way that is called free is free.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005, sections
/// 3 and 4.1; Selle 2008, sections 4.3 and 4.4.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <algorithm>
#include <array>

namespace meniscus::grid {

/// What the cells beside a blocked face see of the wall between them.
struct WallBetween {
  /// From the centre of the lower and of the upper cell along the axis, spacings, from 0 to 1.
  std::array<double, 2> distance{0.5, 0.5};
  /// Square of the part of the unit normal along the axis, as seen from both.
  std::array<double, 2> weight{1.0, 1.0};
};

template <int D>
class ThinWalls {
 public:
  using Point = Vec<double, D>;

  explicit ThinWalls(const Grid<D>& grid) : grid_(grid) {}
  virtual ~ThinWalls() = default;
  ThinWalls(const ThinWalls&) = delete;
  ThinWalls& operator=(const ThinWalls&) = delete;

  const Grid<D>& grid() const { return grid_; }

  /// Cells, along the axis where it is most, from a cell to the nearest one that walls may pass, or less: all ways that stay
  /// within fewer cells are free, and those within half a cell of a cell with a clearance. C-ordered over the cells.
  const std::uint8_t* clearance() const { return clearance_; }
  /// The same for the cell at, or above, a sample of the given place.
  Index clearance(const Stagger<D>& stagger, Coord<D> sample) const {
    Index i = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const Index n = grid_.local_shape()[d];
      i = i * n + (stagger.on_side[d] && sample[d] == n ? n - 1 : sample[d]);
    }
    return clearance_[i];
  }

  /// The same for the cell that holds a point, m; 0 for points outside of the domain, where nothing is known.
  Index clearance(const Point& x) const {
    Index i = 0;
    for (int d = 0; d < D; ++d) {
      const Index n = grid_.local_shape()[d];
      const double at = (x[d] - grid_.origin()[d]) / grid_.spacing();
      if (!(at >= 0 && at <= static_cast<double>(n))) return 0;
      i = i * n + std::min(static_cast<Index>(at), n - 1);
    }
    return clearance_[i];
  }

  /// Whether a wall's thickness holds a point, m: nothing is visible from there.
  virtual bool covers(const Point& x) const = 0;
  /// Sets bit i of the result where a wall hides target i from the origin; `velocity[i]` is then that of the wall where the way
  /// meets it first, m/s, or NaN where it is a solid that stands in the way; nullptr if nobody asks. At most 32 targets.
  virtual std::uint32_t hidden(const Point& origin, const Point* targets, int count, Point* velocity) const = 0;
  /// The part of a way, from 0 to 1, to a place from which, as from the origin, nothing is in between: it stops before walls of
  /// twice the thickness.
  virtual double free_part(const Point& origin, const Point& target) const = 0;
  /// Whether a wall stands between the centres of the two cells beside a face, and its velocity there.
  virtual bool blocked(int axis, const Coord<D>& face, Point* velocity) const = 0;
  /// The same, and where the wall stands.
  virtual bool between(int axis, const Coord<D>& face, WallBetween& wall) const = 0;

 protected:
  /// Memory that outlives its use here.
  void set_clearance(const std::uint8_t* cells) { clearance_ = cells; }

 private:
  Grid<D> grid_;
  const std::uint8_t* clearance_ = nullptr;
};

}  // namespace meniscus::grid
