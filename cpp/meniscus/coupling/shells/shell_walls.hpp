/// Thin shells on a grid: triangles in 3-D and segments in 2-D, thickened by a little, as walls that transport and pressure see.
///
/// Cells that the shells come near are marked once per position; all others are free and cost one byte each. Segments of a 2-D
/// grid are strips across its plane, and what lies near periodic sides has its images beyond them: both are triangles of one
/// surface, so that all questions are those of `ThickSurface`, with its guarantee: what is called visible is visible.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005, sections
/// 3, 4.1 and 4.3; Selle 2008, sections 4.3 and 4.4.
#pragma once

#include "meniscus/collision/ray_casting/surface_cells.hpp"
#include "meniscus/core/block.hpp"
#include "meniscus/coupling/shells/near_triangles.hpp"
#include "meniscus/coupling/shells/solid_in_walls.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <limits>

namespace meniscus::coupling {

/// A face of the grid between two cell centres that a shell keeps apart. A centre that a wall covers counts as beside it, on one
/// side.
template <int D>
struct ShellFace {
  int axis;
  Coord<D> face;
  /// Velocity of the shell, m/s: the mean of the first hits from both sides.
  Vec<double, D> velocity;
  /// Triangle or segment that is hit first from the lower cell.
  std::int32_t element;
};

/// What a point sees of the shell around it: the velocity at the nearest of some hits, and the unit normal there, towards the
/// point. Both are zero where nothing is hit.
template <int D>
struct NearestWall {
  Vec<double, D> velocity = Vec<double, D>::Zero(), normal = Vec<double, D>::Zero();
};

/// The nearest place of the shells to a point, m; triangle -1 where none is within reach.
template <int D>
struct ClosestWall {
  std::int32_t triangle = -1;
  double distance = std::numeric_limits<double>::infinity();
  /// Unit, towards the point.
  Vec<double, D> normal = Vec<double, D>::Zero();
  /// Of the shell there, m/s.
  Vec<double, D> velocity = Vec<double, D>::Zero();
  mesh::Point barycentric = mesh::Point::Zero();
};

template <int D>
class ShellWalls final : public grid::ThinWalls<D> {
 public:
  using Point = Vec<double, D>;
  using Element = std::array<std::int32_t, D>;

  /// Copies its arguments. Elements are numbered by their vertices; `thickness` is that of the walls, m. Throws InvalidArgument
  /// for a grid of several blocks, indices out of range and positions that are not finite.
  ShellWalls(const grid::Grid<D>& grid, std::span<const Point> vertices, std::span<const Element> elements, double thickness);

  /// Sets positions, m, and velocities, m/s, of the vertices, and finds marked cells and blocked faces anew.
  void place(std::span<const Point> vertices, std::span<const Point> velocities);
  /// Lets ways see a solid beside the shells, of which it takes a copy, or none: they do not lead through it. A target that it
  /// hides has a velocity that is NaN. Marked cells and blocked faces are found anew if the solid is another.
  void see_solid(const grid::Field<double, D>* levelset, SolidSight sight);
  const SolidInWalls<D>& solid() const { return solid_; }
  /// The end of a way to `to` outside of the solid: pushed out of it, or, where the way around the solid is not free, before it.
  Point beside_solid(const Point& from, const Point& to) const;
  /// Sets velocities alone, also those of the faces.
  void set_velocities(std::span<const Point> velocities);

  bool covers(const Point& x) const override {
    const auto near = near_triangles_.within(x, x);
    return near ? surface_.inside(lifted(x), *near) : surface_.inside(lifted(x));
  }
  std::uint32_t hidden(const Point& origin, const Point* targets, int count, Point* velocity) const override;
  double free_part(const Point& origin, const Point& target) const override;
  bool blocked(int axis, const Coord<D>& face, Point* velocity) const override;
  bool between(int axis, const Coord<D>& face, grid::WallBetween& wall) const override;

  /// Faces that are blocked, axis by axis in C order; on periodic axes both copies of a face.
  std::span<const ShellFace<D>> faces() const { return faces_; }
  /// Per blocked face, what its lower and its upper cell see first.
  std::span<const std::array<collision::WedgeHit, 2>> face_hits() const { return face_hits_; }
  /// Vertices of what a hit has met, without images.
  std::array<std::int32_t, 3> corners_of(const collision::WedgeHit& hit) const;
  /// Cells within reach of a shell that moves from here to the positions of `end`: marks of all samples that may be swept over.
  void mark_swept_cells(const ShellWalls& end, std::span<std::uint8_t> out) const;
  /// Sets out[i] for samples that a shell passes on its straight way from here to `end`, or covers here or there. Exact.
  void mark_swept_samples(const ShellWalls& end, const grid::Stagger<D>& stagger, std::span<std::uint8_t> out) const;

  /// Sets out[i] for points that meet a shell on their straight way while it moves from here to `end`, or that it covers here or
  /// there. Exact.
  void mark_crossing_points(const ShellWalls& end, std::span<const Point> from, std::span<const Point> to,
                            std::span<std::uint8_t> out) const;
  /// Looks towards another point, and along the axes as far as that, or four cells.
  NearestWall<D> nearest_wall(const Point& from, const Point& towards) const;

  /// What is nearest to a point of all that is closer than `reach`, m: it sees that.
  ClosestWall<D> closest_wall(const Point& x, double reach) const;
  /// Whether nothing is certainly in between.
  bool visible(const Point& from, const Point& to) const { return surface_.visible(lifted(from), lifted(to)); }
  /// The place beside a shell, which has moved from here to `end`, at a distance, m, from what was closest to a point, and on the
  /// side of that where the point was.
  Point beside(const ShellWalls& end, const Point& from, const ClosestWall<D>& wall, double distance) const;
  /// How far a vertex is from where it is in `end` at most, m.
  double longest_way(const ShellWalls& end) const;

  double thickness() const { return 2 * surface_.radius(); }
  Index vertex_count() const { return count_; }
  Index marked_cells() const { return marked_count_; }
  Index bytes() const;

 private:
  static mesh::Point lifted(const Point& x) {
    if constexpr (D == 3) return x;
    return {x[0], x[1], 0.0};
  }
  static Point lowered(const mesh::Point& x) { return x.template head<D>(); }
  void lift(std::span<const Point> vertices, bool images, std::vector<mesh::Point>& out) const;
  std::vector<mesh::Triangle> lifted_elements(std::span<const Element> elements, Index vertices) const;
  collision::CellGrid cell_grid() const;
  /// The centre of a cell or, if that is in the solid, a place in what is open of the cell, the same for all images of the cell:
  /// so the fluid that is left of it is on one side of a shell whose rim is not far within the solid.
  mesh::Point open_place(const Coord<3>& cell) const;
  /// The centre of a cell, or, if a wall holds it, a place beside that wall. `hit`: what is met first from there.
  mesh::Point uncovered(const mesh::Point& center, const collision::WedgeHit& hit) const;
  void list_near_faces(int axis);
  /// What the lower and the upper cell of a face see first on the way to the other; no triangles if nothing is in between.
  std::array<collision::WedgeHit, 2> across(int axis, const Coord<D>& face) const;
  /// C-ordered among the faces along an axis.
  Index face_number(int axis, const Coord<D>& face) const;
  /// The number of a blocked face in `faces_`, -1 for others.
  Index blocked_number(int axis, const Coord<D>& face) const;
  mesh::Point normal_of(std::int32_t triangle) const;
  /// Which side of the plane of a triangle a point is on: 1 or -1.
  double side_of(std::int32_t triangle, const mesh::Point& x) const;
  /// Marked cells, what is near them, and blocked faces.
  void find_marks();
  void find_faces();
  void find_face_velocities();
  Point velocity_of(const collision::WedgeHit& hit) const { return lowered(surface_.velocity(hit, velocities_)); }

  SolidInWalls<D> solid_;
  Index count_;
  /// Shifts of the images, of which the first is none.
  std::vector<Point> images_;
  std::size_t element_count_;
  collision::ThickSurface surface_;
  std::vector<mesh::Point> positions_, velocities_;
  /// Zero in marked cells.
  std::vector<std::uint8_t> clearance_, clearance_scratch_;
  Index marked_count_ = 0;
  NearTriangles<D> near_triangles_;
  std::vector<ShellFace<D>> faces_;
  /// Hits of both ways across a blocked face.
  std::vector<std::array<collision::WedgeHit, 2>> face_hits_;
  /// Per axis, the C-ordered numbers of blocked faces, ascending; the first of an axis is faces_[first_face_[axis]].
  std::array<std::vector<Index>, D> face_numbers_;
  std::array<std::size_t, D> first_face_{};
  /// Scratch: C-ordered numbers of the faces along one axis that a shell may block, ascending, and what is met across them.
  std::vector<Index> near_faces_;
  std::vector<std::array<collision::WedgeHit, 2>> near_hits_;
};

}  // namespace meniscus::coupling
