/// Repair of triangle surfaces as files hold them, so that they are the boundary of a solid where that can be.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

struct SurfaceRepairOptions {
  /// Vertices joined by steps of at most this become one, m.
  double weld = 0;
  /// Whether holes are closed, and triangles turned outward.
  bool fill = true;
  bool orient = true;
};

struct SurfaceRepair {
  std::vector<Point> vertices;
  std::vector<Triangle> triangles;
  /// For each vertex which of the given ones it is.
  std::vector<std::int32_t> source;
  /// Vertices that became part of another one.
  Index welded = 0;
  /// Triangles left out that have no area, and those left out because others have the same corners.
  Index degenerate = 0, doubled = 0;
  /// Triangles that were turned around.
  Index turned = 0;
  /// Holes that were closed, and the triangles that close them.
  Index filled = 0, added = 0;
  /// Edges whose triangles pass them in the same direction whichever way they are turned.
  Index one_sided = 0;
  /// Pairs of triangles that meet beyond the corners that they share.
  Index crossings = 0;
};

/// Joins vertices that coincide; leaves out triangles without area and copies (`SurfaceOrientation`); closes holes, but for those
/// around more area than the surface that they are in has beside them, as the rim of a sheet; closes the cracks at corners that
/// lie on an edge; and turns triangles outward. Throws InvalidArgument for what `require_valid` refuses, and if nothing is left.
SurfaceRepair repaired_surface(const TriangleMeshView& mesh, const SurfaceRepairOptions& options);

}  // namespace meniscus::mesh
