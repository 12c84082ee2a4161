/// Reach of the water in a step, and the velocities of dry tetrahedra within it.
#pragma once

#include "meniscus/fluids/tet_vof/tet_graph.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

namespace meniscus::fluids {

/// Tetrahedra at the boundary of the mesh beyond which there is water, and its velocities, m/s.
struct WetBoundary {
  std::span<const std::int32_t> tets;
  std::span<const mesh::Point> velocities;
};

/// The tetrahedra of a step: those with water, ascending, then dry ones within its reach. Each has a slot, its place in this
/// list.
///
/// A dry tetrahedron takes the mean velocity of what is next to it across corners, layer by layer, until the water around cannot
/// come any farther: water in uniform motion then meets tetrahedra that are traced back onto it wherever it goes.
///
/// With velocities of vertices, these and those of dry tetrahedra come from affine fits to the velocities around, so that a mesh
/// that turns with its water stays in place.
///
/// Source: Lee 2018, section 3.3.2, which leaves the velocity of dry tetrahedra open.
class TetReach {
 public:
  explicit TetReach(const TetGraph& graph);

  /// Gathers the list for a step of dt. Tetrahedra with a negative rank are traced only if they hold water. Those of `boundary`
  /// are traced also if they are dry. With `nodes`, every vertex of the list gets a velocity.
  void gather(const TetWater& water, std::span<const mesh::Point> before, std::span<const mesh::Point> after,
              std::span<const std::int32_t> ranks, double dt, bool nodes, const WetBoundary& boundary);

  std::span<const std::int32_t> tets() const { return tets_; }
  /// How many of them hold water.
  Index wet() const { return wet_; }
  Index size() const { return static_cast<Index>(tets_.size()); }
  /// The slot of a tetrahedron; -1 for those that are not in the list.
  std::int32_t slot(std::int32_t t) const { return slots_[t]; }
  /// Velocities with which those of the list are traced, m/s.
  std::span<const mesh::Point> velocities() const { return velocities_; }
  /// Velocity of a vertex, if `nodes` was set.
  const mesh::Point& node_velocity(std::int32_t v) const { return node_velocity_[v]; }

  std::size_t nbytes() const;

 private:
  void find_wet(const TetWater& water);
  double farthest(std::int32_t t, const mesh::Point& path, std::span<const mesh::Point> before,
                  std::span<const mesh::Point> after) const;
  void add_layers(const TetWater& water, std::span<const mesh::Point> after, std::span<const std::int32_t> ranks);
  void average_node(std::int32_t v, const TetWater& water);
  void fit_node(std::int32_t v);
  mesh::Point centre(std::int32_t t) const;

  const TetGraph& graph_;
  std::vector<std::int32_t> slots_;
  std::vector<std::int32_t> tets_;
  std::vector<mesh::Point> velocities_;
  /// How far the water around may still go, m.
  std::vector<double> reach_;
  Index wet_ = 0;
  /// Of vertices: the round in which they were claimed, velocity and reach.
  std::vector<std::int32_t> round_;
  std::vector<mesh::Point> node_velocity_;
  std::vector<double> node_reach_;
  /// With velocities of vertices: their gradients, 1/s, and the positions that they belong to.
  std::vector<Eigen::Matrix3d> node_gradient_;
  std::span<const mesh::Point> places_;
  std::int32_t rounds_ = 0;
  std::vector<std::int32_t> nodes_;
  std::vector<std::vector<std::int32_t>> pieces_;
};

}  // namespace meniscus::fluids
