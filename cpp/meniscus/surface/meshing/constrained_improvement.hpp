/// Local improvement of the tetrahedra of a mesh whose boundary is constrained to a surface and its creases.
///
/// Source: Klingner and Shewchuk, "Aggressive tetrahedral mesh improvement", 2007.
#pragma once

#include "meniscus/mesh/refinement/star_quality.hpp"
#include "meniscus/surface/meshing/boundary_deviation.hpp"
#include "meniscus/surface/meshing/feature_edges.hpp"

namespace meniscus::surface {

class ConstrainedImprovement {
 public:
  /// Vertices with freedom 2 stay on the surface of `off`, those with freedom 1 on their curve of the creases. Cells, m, give the
  /// size of moves. All arguments must outlive this object.
  ConstrainedImprovement(mesh::TetEditor& mesh, const BoundaryDeviation& off, const FeatureEdges& creases, double cell)
      : mesh_(mesh), off_(off), creases_(creases), cell_(cell) {}

  // Condition of a change of an edge: `better` if it improves the worst tetrahedron there and keeps the boundary on the surface;
  // `always` if the caller checks this.
  enum class When : std::int8_t { better, always };
  /// Moves vertex a to b and removes the tetrahedra between.
  bool contract(std::int32_t a, std::int32_t b, When when = When::better);
  /// Replaces the tetrahedra around the edge by the best ones without it. A boundary edge is flipped.
  bool remove_edge(std::int32_t a, std::int32_t b, When when = When::better);

  /// Improves the tetrahedra around some vertices whose quality (`min_sine`) is below a target, in at most so many passes.
  void improve(std::span<const std::int32_t> seeds, double target, int passes);
  /// Makes one pass over at most `most` of the worst of the given tetrahedra. Returns the number of useful operations.
  Index improve_tets(std::span<const std::int32_t> tets, double target,
                     std::size_t most = std::numeric_limits<std::size_t>::max());

 private:
  bool improve_tet(std::int32_t t, double target);
  /// Moves a vertex until the worst of its tetrahedra is as good as the target, or as good as can be.
  bool smooth(std::int32_t v, double target);
  /// Whether the boundary around a vertex would be no farther from the surface than `limit` (m) with the vertex at x. A negative
  /// limit becomes the present deviation, or the tolerance if this is larger.
  bool keeps_surface(std::int32_t v, const mesh::Point& x, double& limit);
  double min_quality(std::span<const std::int32_t> tets) const;
  /// Replaces old tetrahedra by new ones. With `guarded`, not if the boundary leaves the surface.
  bool exchange(std::span<const std::int32_t> old, std::span<const mesh::Tet> fresh, bool guarded);
  const std::vector<mesh::Point>& directions_of(std::int32_t v);
  mesh::Point bound_position(const mesh::EditedVertex& v, const mesh::Point& x, bool& valid) const;

  mesh::TetEditor& mesh_;
  const BoundaryDeviation& off_;
  const FeatureEdges& creases_;
  double cell_;
  // Scratch, reused between calls.
  mesh::EdgeRing ring_;
  std::vector<mesh::Triangle> faces_before_, faces_after_;
  std::vector<std::int32_t> made_;
  std::vector<mesh::Point> directions_;
  mesh::StarQuality star_;
};

}  // namespace meniscus::surface
