/// Embedding of points in the elements of a mesh with fixed weights ("hard bindings"): positions of the points, and distribution
/// of forces and masses on points to the nodes.
///
/// Source: Lee 2018, section 2.3.1, equation (2.1); Sifakis et al., "Hybrid simulation of deformable solids", 2007 (forces,
/// masses); Mueller et al., "Real time physics" course notes, 2008, section 3.6.
#pragma once

#include "meniscus/mesh/topology/vertex_stars.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

#include <mutex>
#include <optional>

namespace meniscus::mesh {

/// Each point has D parents (corners of a segment, triangle or tetrahedron) and weights of type W, which sum to one. Sums are in
/// double precision. Arrays belong to somebody else and must outlive this.
template <std::size_t D, class W>
class Embedding {
 public:
  using Parents = std::array<std::int32_t, D>;
  using Weights = std::array<W, D>;

  /// Throws InvalidArgument for a parent that is not a node, and for weights that are not finite or do not sum to one to within
  /// `tolerance`, naming the first.
  Embedding(std::span<const Parents> parents, std::span<const Weights> weights, Index nodes, double tolerance);

  Index size() const { return static_cast<Index>(parents_.size()); }
  Index nodes() const { return nodes_; }

  /// out[i] = the weighted sum of the values (positions, velocities, ...) of the parents of point i. Parallel; allocates nothing.
  void evaluate(std::span<const Point> node_values, std::span<Point> out) const;

  /// node_values[j] += the weighted sum of the values (forces, impulses) of the points of node j: the transpose of `evaluate`, in
  /// ascending order of the points whatever the number of threads. The first call finds the points of each node; later ones
  /// allocate nothing.
  void spread(std::span<const Point> values, std::span<Point> node_values);

  /// The same for numbers: masses.
  void spread(std::span<const double> values, std::span<double> node_values);

  /// out[i] = 1 / sum of w^2 / m over the parents: the effective mass for an impulse at the point. Parents of infinite mass do
  /// not move; a point with only such parents has infinite mass, and a point with a massless parent has mass 0.
  void effective_masses(std::span<const double> node_masses, std::span<double> out) const;

 private:
  template <class T>
  void spread_values(std::span<const T> values, std::span<T> node_values);

  std::span<const Parents> parents_;
  std::span<const Weights> weights_;
  Index nodes_;
  std::once_flag found_;
  std::optional<VertexStars<D>> stars_;
};

}  // namespace meniscus::mesh
