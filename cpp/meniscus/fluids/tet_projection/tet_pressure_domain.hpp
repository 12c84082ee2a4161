/// Regions of water, air and solid on a tetrahedral mesh, and the vertices of unknown pressure.
#pragma once

#include "meniscus/fluids/tet_projection/tet_pressure_problem.hpp"
#include "meniscus/fluids/tet_projection/tet_pressure_topology.hpp"
#include "meniscus/numerics/sparse/sparse_system.hpp"

namespace meniscus::fluids {

enum class TetContent : std::uint8_t { solid, water, air };

/// Disabled, inverted and flat tetrahedra and those in the object count as solid; the others hold water where they are wet, and
/// air elsewhere. The pressure is zero at the vertices of air and of open boundary faces, and unknown at the other vertices of
/// water. A face between water and solid is closed.
class TetPressureDomain {
 public:
  void classify(const TetPressureTopology& mesh, const TetPressureProblem& problem);

  TetContent content(Index tet) const { return static_cast<TetContent>(content_[tet]); }
  /// The unknown at a vertex, or -1. Those of a region follow each other; in a region they are in the order of the vertices.
  std::int32_t unknown(Index vertex) const { return unknown_[vertex]; }
  /// The vertices of the unknowns.
  std::span<const std::int32_t> vertices() const { return vertices_; }
  /// In order of their first vertices.
  const std::vector<numerics::SparseRegion>& regions() const { return regions_; }
  Index wet_tets() const { return wet_tets_; }
  Index excluded_tets() const { return excluded_tets_; }
  Index bytes() const;

 private:
  void find_contents(const TetPressureTopology& mesh, const TetPressureProblem& problem);
  void find_unknowns(const TetPressureTopology& mesh, const TetPressureProblem& problem);
  void find_regions(const TetPressureTopology& mesh);

  std::vector<std::uint8_t> content_;
  std::vector<std::int32_t> unknown_, vertices_, region_, next_;
  std::vector<numerics::SparseRegion> regions_;
  Index wet_tets_ = 0, excluded_tets_ = 0;
};

}  // namespace meniscus::fluids
