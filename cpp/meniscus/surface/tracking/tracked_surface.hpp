/// Surface of triangles that follows any motion: it is improved, parts merge and split, and it never intersects itself.
///
/// Source: Brochu 2012, chapter 3: phase 1 (`improve`) changes the mesh and not the time, phase 2 (`move`) moves vertices to ends
/// that are given, as far as nothing is in the way.
#pragma once

#include "meniscus/collision/contact/repulsion.hpp"
#include "meniscus/collision/contact/resolve.hpp"
#include "meniscus/core/block.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/surface/tracking/component_volumes.hpp"
#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// What a motion did.
struct MotionReport {
  /// Vertices that repulsion, impulses and zones moved from their ends.
  Index repelled = 0;
  Index pushed = 0;
  Index zone_vertices = 0;
  /// Part of the step that was taken: below 1 where nothing but its end before a contact helps.
  double fraction = 1;
  bool pinched = false;
  collision::ResolveReport contacts;
};

class TrackedSurface {
 public:
  /// Copies the mesh. Throws InvalidArgument for options that make no sense, positions that are not finite, edges with odd
  /// numbers of triangles above one, triangles that are opposed or twice there, and, with safety, for a surface that intersects
  /// itself.
  TrackedSurface(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, const TrackingOptions& options);

  TrackingOptions options;
  Observer observer;

  std::span<const mesh::Point> vertices() const {
    return {reinterpret_cast<const mesh::Point*>(vertices_.data()), fixed_.size()};
  }
  std::span<const mesh::Triangle> triangles() const { return {triangles_.begin(), triangles_.end()}; }
  std::span<const std::uint8_t> fixed() const { return fixed_; }
  /// Three numbers per vertex.
  Block<double>& vertex_block() { return vertices_; }
  Block<mesh::Triangle>& triangle_block() { return triangles_; }
  /// Grows with every change of the triangles.
  Index generation() const { return generation_; }

  /// Replaces all; tested like the mesh of the constructor if `test`.
  void set(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, bool test);

  void add_obstacle(const mesh::TriangleMeshView& obstacle);
  const Obstacles& obstacles() const { return obstacles_; }
  const std::vector<mesh::Point>& obstacle_ends() const { return obstacle_ends_; }
  /// Where obstacle vertices are at the end of the next motion; they are there afterwards.
  void move_obstacles(std::span<const mesh::Point> ends);
  /// Puts them elsewhere, without a motion.
  void place_obstacles(std::span<const mesh::Point> places);

  /// Improves the mesh. Events are those of all operations but smoothing; they end with the numbers of what is left. If it
  /// throws, the surface is as before.
  TrackingCounts improve(mesh::SurfaceEvents& events);

  /// One kind of operation at edges (rows of two vertices; of four for merges), one after the other, without what `improve` would
  /// choose. Vertices are those of now; what came before in the list may have taken an edge away: that is refused for `topology`.
  std::vector<Refusal> apply(mesh::EventKind kind, std::span<const std::int32_t> rows, mesh::SurfaceEvents& events);

  /// Smoothing alone; returns how many vertices moved.
  Index smooth();

  /// Moves the vertices to ends in a step of dt, s, which only scales velocities. If it throws, the surface is as before.
  MotionReport move(std::span<const mesh::Point> ends, double dt);

  /// Edges and triangles without a common vertex that have a point in common, obstacles included.
  Index intersections() const;

  double volume() const;
  double area() const;

  /// Bytes held between calls: the surface, and what improvements and motions keep to be used again.
  Index nbytes() const;

 private:
  void take(mesh::SurfaceEvents& events, std::vector<mesh::Point>& x, std::span<const mesh::Triangle> triangles,
            std::span<const std::uint8_t> fixed);
  void replace(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, bool test);
  void require_sound(const mesh::TriangleMeshView& surface) const;
  /// Surface and obstacles as one mesh of contact, for as long as the triangles are the same.
  struct Contact {
    explicit Contact(std::span<const mesh::Triangle> all) : mesh(std::nullopt, all) {}
    collision::CollisionMesh mesh;
    std::optional<collision::Repulsion> repulsion;
  };
  Contact& contact(std::span<const mesh::Triangle> triangles, std::size_t vertices) const;
  /// Adds to the ends of vertices what gives closed parts the volume that they had before the operations, if the topology is the
  /// same.
  void restore_volume(const ComponentVolumes& before, std::span<const mesh::Triangle> triangles,
                      std::span<const std::uint8_t> fixed, std::span<mesh::Point> ends) const;
  /// Moves vertices towards `to`, as far as nothing touches; returns how many were kept back.
  Index approach(std::span<const mesh::Triangle> triangles, std::vector<mesh::Point>& vertices,
                 std::vector<mesh::Point>& to) const;
  void repel(Contact& contact, std::span<const mesh::Point> start, const collision::ContactNodes& nodes, double dt,
             std::span<mesh::Point> ends, MotionReport& report) const;

  std::span<mesh::Point> positions() { return {reinterpret_cast<mesh::Point*>(vertices_.data()), fixed_.size()}; }

  Block<double> vertices_;
  Block<mesh::Triangle> triangles_;
  std::vector<std::uint8_t> fixed_;
  Obstacles obstacles_;
  std::vector<mesh::Point> obstacle_ends_;
  Index generation_ = 0;
  SurfaceEditor editor_;
  mutable std::optional<Contact> contact_;
};

}  // namespace meniscus::surface
