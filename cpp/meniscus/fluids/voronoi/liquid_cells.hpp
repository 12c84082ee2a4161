/// The liquid among Voronoi cells, and what is beyond each of their faces: liquid, air behind a piece of surface, or a solid.
#pragma once

#include "meniscus/fluids/voronoi/surface_hits.hpp"
#include "meniscus/mesh/voronoi/voronoi_mesh.hpp"
#include "meniscus/surface/tetrahedra/signed_distance.hpp"

namespace meniscus::fluids {

/// What one of the two cells of a face has beyond it.
enum class Beyond : std::uint8_t {
  nothing,  ///< the cell is air, or the face is closed: no velocity is known
  liquid,   ///< the pressure of the other cell acts
  air,      ///< the pressure of the surface acts, at a distance
  wall,     ///< of the box: no flow
};

/// A face as one of its cells sees it.
struct FaceSide {
  Beyond beyond = Beyond::nothing;
  /// From the site to the surface, m, and the pressure there, Pa.
  double reach = 0, pressure = 0;
};

struct LiquidCells {
  /// Per cell.
  std::vector<std::uint8_t> liquid;
  /// Per face: the part that is open, the flow of the solid through the rest from the first cell to the second, m^3/s, and both
  /// sides.
  std::vector<double> open, solid_flow;
  std::vector<std::array<FaceSide, 2>> sides;
  /// The connected part of the liquid that a cell is in, counted by their first cells; -1 in the air and where no face is open.
  std::vector<std::int32_t> part;
  /// Per part: no face has a surface beyond it.
  std::vector<std::uint8_t> closed;

  bool known(Index face, std::size_t side) const { return sides[face][side].beyond != Beyond::nothing; }
  Index nbytes() const;
};

struct LiquidCellsOptions {
  /// Surfaces that are closer along an edge than this count as merged, m.
  double gap = 0;
  /// Where the surface is between two sites: by its exact crossings, or in proportion to the distances of both to it.
  bool exact_crossings = true;
};

/// A solid in motion: distances, and velocities at points.
struct CellSolid {
  surface::SignedDistance distance;
  std::function<void(std::span<const mesh::Point>, std::span<mesh::Point>)> velocity;
};

/// `pressure` has that of the surface at each vertex, Pa.
///
/// An edge between two liquid sites that crosses the surface twice joins what does not touch: both sides have air beyond the
/// face, unless the gap is so thin that it counts as merged. Sources: Brochu 2012, section 7.5; Batty, Xenos and Houston,
/// "Tetrahedral embedded boundary methods for accurate and flexible adaptive fluids", 2010.
void classify_cells(const mesh::VoronoiMesh& mesh, const SurfaceHits& surface, std::span<const double> pressure,
                    const CellSolid& solid, const LiquidCellsOptions& options, LiquidCells& out);

}  // namespace meniscus::fluids
