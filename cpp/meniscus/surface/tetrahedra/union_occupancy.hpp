/// Occupancy of moving tetrahedra by a union of solids, from their distances and surfaces.
///
/// Source: Lee 2018, section 3.3.1.
#pragma once

#include "meniscus/mesh/search/triangle_tree.hpp"
#include "meniscus/surface/tetrahedra/node_distances.hpp"
#include "meniscus/surface/tetrahedra/occupancy.hpp"

#include <memory>
#include <optional>

namespace meniscus::surface {

/// One of the solids of a union.
struct OccupyingSolid {
  SignedDistance distance;
  /// Greatest change of the distance per metre; infinite: not known, and measured along edges near the surface.
  double slope = 1.0;
  const mesh::TriangleTree* surface = nullptr;  ///< of its triangles, where it has such
};

/// What a union occupies of a mesh.
struct Occupancy {
  std::span<double> phi;       ///< distance at each node, clamped to the band, m
  std::span<double> fraction;  ///< fraction, cut, inside of each tetrahedron: as of set_occupancy
  std::span<bool> cut, inside;
};

/// Occupancy of one mesh, whose nodes may move from call to call; keeps scratch memory.
class UnionOccupancy {
 public:
  /// Longest edges that a band has at least, so that tetrahedra with a node beyond are not cut.
  static constexpr double least_band = 1.6;

  /// Sets `out` to a union; none of its solids occupies anything where there is none. Distances are exact up to `band`, m, which
  /// is at least `least_band` times the longest edge.
  void set(const mesh::TetMeshView& mesh, std::span<const OccupyingSolid> solids, double band, double longest_edge,
           const Occupancy& out);

  Index nbytes() const;

 private:
  std::optional<NodeDistances> nodes_;
  std::vector<double> phi_;                          ///< of one solid
  std::unique_ptr<bool[]> touched_, solid_touched_;  ///< by the surface of any solid, and of one
  Index tets_ = 0;
};

}  // namespace meniscus::surface
