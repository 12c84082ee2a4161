/// A thick solid among thin walls: straight ways beside a shell do not lead through it.
///
/// A shell that ends within a solid has a rim there, and what continues a fluid into the solid could go around it. So ways end
/// where they enter the solid.
#pragma once

#include "meniscus/grid/field.hpp"

#include <optional>
#include <vector>

namespace meniscus::coupling {

/// What of a solid hides a sample.
enum class SolidSight : std::uint8_t {
  outside,  ///< a sample in the solid is hidden, and one beyond it
  through,  ///< only one beyond it: those inside hold what continues the fluid on this side
};

template <int D>
class SolidInWalls {
 public:
  using Point = Vec<double, D>;

  /// Copies the level set, on nodes, m, solid where <= 0, and returns whether it is another than before.
  bool set(const grid::Field<double, D>& levelset, SolidSight sight);
  void clear() { nodes_.clear(); }
  bool any() const { return !nodes_.empty(); }
  Index bytes() const { return static_cast<Index>(nodes_.size() * sizeof(double)); }

  /// Signed distance at a point, m: linear between the nodes; beyond sides of the domain that of the side. Only with `any`.
  double level(const Point& x) const;
  /// Whether nothing within a distance of a point, m, is in the solid.
  bool clear_around(const Point& x, double distance) const { return level(x) * sure_part > distance; }
  /// The part of a way, from 0 to 1, that does not enter the solid; a way that begins in it may leave it.
  double free_part(const Point& from, const Point& to) const;
  /// A point in the solid moves along its normals to just outside of it, if it gets there.
  Point pushed_out(const Point& x) const;
  /// The centre of a cell or, if that is in the solid, the nearest place in what is open of the cell, or, if that is hard to
  /// tell, its corner that is farthest from the solid; the centre of a cell that is not open.
  Point open_place(const Point& center) const;
  /// The middle of what a way passes of the solid, from 0 to 1, where it comes out again; negative where it does not.
  double middle_of_passage(const Point& from, const Point& to) const;
  /// Whether the solid hides a sample from a point, as `sight` says.
  bool hides(const Point& from, const Point& to) const;

 private:
  /// Of the distance to the solid, what a way goes on without a test: where solids overlap, slopes may be steeper than one.
  static constexpr double sure_part = 0.5;

  /// Calls visit(part, inside) at places along a way, no farther apart than an eighth of a spacing near the solid, until it
  /// returns false.
  template <class Visit>
  void walk(const Point& from, const Point& to, Visit&& visit) const;

  std::vector<double> nodes_;
  std::optional<grid::Grid<D>> grid_;
  Coord<D> strides_{};
  double spacing_ = 1.0;
  SolidSight sight_ = SolidSight::outside;
};

}  // namespace meniscus::coupling
