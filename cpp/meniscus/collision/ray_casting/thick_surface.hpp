/// Exact visibility queries against a thickened triangle surface, without leaks.
///
/// Every triangle is thickened to a wedge (see ray_wedge.hpp). Wedges of neighbours overlap, so a segment cannot slip through a
/// shared edge or vertex. A point is "visible" only if the whole segment is certainly clear of all wedges: a segment within
/// round-off of a wedge counts as touching it.
///
/// Source: Guendelman et al., "Coupling water and smoke to thin deformable and rigid shells", 2005, section 3; Selle, "Hybrid
/// techniques for high-fidelity physical simulation of solids and fluids", 2008, section 4.3.
#pragma once

#include "meniscus/collision/ray_casting/fan_targets.hpp"

#include <cmath>

namespace meniscus::collision {

/// Visibility of a target from an origin.
enum class Visibility : std::int8_t {
  /// The segment is clear of all wedges.
  visible = 0,
  /// The segment meets a wedge, and its target lies in none.
  occluded = 1,
  /// The target lies in a wedge, whatever lies between.
  inside = 2,
};

/// The first wedge on the way from an origin to a target; for a visible target the target itself, and triangle and body -1.
struct WedgeHit {
  Visibility visibility = Visibility::visible;
  std::int32_t triangle = -1;
  std::int32_t body = -1;
  /// Fraction of the way: 0 if the origin is inside of a wedge.
  double fraction = 1;
  /// Point at which the segment enters the wedge, m.
  mesh::Point position;
  /// Barycentric coordinates of the point of the triangle closest to the position.
  mesh::Point barycentric = mesh::Point::Zero();
};

/// The point of a surface that is closest to another one; triangle -1 where none is within reach.
struct NearestPlace {
  std::int32_t triangle = -1;
  double distance = 0;
  mesh::Point position = mesh::Point::Zero(), barycentric = mesh::Point::Zero();
};

/// Of several wedges entered at the same place, the triangle with the lowest number is the one that is hit.
class ThickSurface {
 public:
  /// Copies its arguments. `thickness` is that of the wedges, m; `bodies` has one number per triangle, or none if all are body 0.
  ThickSurface(std::span<const mesh::Point> vertices, std::span<const mesh::Triangle> triangles, double thickness,
               std::span<const std::int32_t> bodies);

  /// Sets new positions of the same vertices. The result is that of a new surface.
  void move(std::span<const mesh::Point> vertices);

  Visibility classify(const mesh::Point& origin, const mesh::Point& target) const;
  bool visible(const mesh::Point& origin, const mesh::Point& target) const;
  /// Whether a wedge contains the point.
  bool inside(const mesh::Point& point) const;
  /// The same, of the wedges of `slots`, among which must be all that `list_near` tells for a box that holds the point.
  bool inside(const mesh::Point& point, std::span<const std::int32_t> slots) const;
  WedgeHit cast(const mesh::Point& origin, const mesh::Point& target) const;

  /// The ways from one origin to at most 32 targets: bit i of the result is set where target i is not visible, and out[i] then
  /// is what `cast` finds, but for the class, which is `occluded`
  /// (`out` may be nullptr). One search serves all targets, which should be near.
  std::uint32_t cast_fan(const mesh::Point& origin, std::span<const mesh::Point> targets, WedgeHit* out) const;
  /// The same with the wedges of `slots`, among which must be all that `list_near` tells for a box that holds the ways.
  std::uint32_t cast_fan(const mesh::Point& origin, std::span<const mesh::Point> targets, std::span<const std::int32_t> slots,
                         WedgeHit* out) const;
  /// Appends the slots of all wedges, and of a few more, that a way within a box, m, may meet. They hold until the next `move`.
  void list_near(const mesh::Box& box, std::vector<std::int32_t>& slots) const;
  /// The fraction of the way to a target at which it enters the first wedge, where wedges have another radius, m; 1 if it meets
  /// none.
  double entry(const mesh::Point& origin, const mesh::Point& target, double radius) const;

  /// The closest point of the triangles themselves that is nearer than `reach`, m; of several, of the lowest triangle.
  NearestPlace nearest(const mesh::Point& point, double reach) const;

  /// The same for many, in parallel.
  void classify(std::span<const mesh::Point> origins, std::span<const mesh::Point> targets, std::span<std::int8_t> out) const;
  void cast(std::span<const mesh::Point> origins, std::span<const mesh::Point> targets, std::span<WedgeHit> out) const;
  void inside(std::span<const mesh::Point> points, std::span<bool> out) const;

  /// The velocity of the surface at a hit from those of the vertices; zero where nothing is hit.
  mesh::Point velocity(const WedgeHit& hit, std::span<const mesh::Point> velocities) const;

  std::span<const mesh::Point> vertices() const { return vertices_; }
  std::span<const mesh::Triangle> triangles() const { return triangles_; }
  double radius() const { return radius_; }
  mesh::Box triangle_box(Index t) const;

 private:
  struct Query;
  struct First;
  struct FanWedges;

  /// Boxes of the triangles.
  void gather();
  /// Wedges in the order of the tree.
  void place();
  template <int width>
  FanTargets::Meeting meeting(FanLanes<width> lanes, const FanTargets& fan, std::int32_t slot, double reach) const;
  /// A scaled box with the reach of wedges of queries in it.
  mesh::Box reached(mesh::Box box, double& reach) const;
  std::uint32_t cast_fan(const FanWedges& near, const mesh::Point& origin, std::span<const mesh::Point> targets,
                         WedgeHit* out) const;
  bool meets_any(const Query& q) const;
  bool holds(const Query& q) const;
  /// The wedge that is entered first, of those of the tree.
  First first_of(const Query& q) const;
  /// Sets `first` to the wedge of a leaf slot where that is entered earlier.
  void meet(const Query& q, const BoxRay& ray, std::int32_t slot, First& first) const;
  /// What is hit there, for a way that ends at no point of interest.
  WedgeHit hit_of(const First& first, const mesh::Point& origin, const mesh::Point& target) const;
  std::int32_t body(std::int32_t triangle) const { return bodies_.empty() ? 0 : bodies_[triangle]; }

  std::vector<mesh::Point> vertices_;
  std::vector<mesh::Triangle> triangles_;
  std::vector<std::int32_t> bodies_;
  double radius_;
  /// A power of two that scales the largest coordinate, or the radius, to between 1/2 and 1: nothing overflows in a query, and
  /// round-off is relative to the surface and the query alone.
  double scale_ = 1;
  /// In the order of the tree's leaves, scaled like the tree.
  std::vector<WedgeTriangle> wedges_;
  std::vector<SeenWedge> seen_;
  std::vector<mesh::Box> boxes_;
  mesh::BoxTree tree_;
};

}  // namespace meniscus::collision
