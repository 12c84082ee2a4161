/// Tetrahedral meshes whose boundary follows the sharp edges and the details of a triangle surface.
///
/// The mesh comes fitted to the surface but for what lies between its vertices. Wherever its boundary is farther away than a
/// tolerance, a vertex is moved onto the crease there, or an edge is split on it, or on the surface where there is no crease. The
/// tetrahedra around are then improved by moving vertices (those on creases along these, those on the surface along it),
/// by contracting edges and by changing the tetrahedra around edges. Each such step is taken back if an angle stays below the bound,
/// so that the bound holds all the time.
///
/// Sources: Klingner and Shewchuk, "Aggressive tetrahedral mesh improvement", 2007 (improvement); Lee 2018, section 2.3.1
/// (compression of a lattice mesh to a surface).
#pragma once

#include "meniscus/mesh/bcc_lattice.hpp"
#include "meniscus/surface/mesh_distance.hpp"

namespace meniscus {

struct FeatureFitOptions {
  /// Edge of the cubes of the lattice at the surface, m.
  double cell = 0;
  /// Edges where normals turn by more than this are sharp, radians.
  double sharp_angle = 0.6;
  /// How far the boundary may be away from the surface, in cells, as samples of its triangles see it.
  double tolerance = 0.03;
  /// No dihedral angle gets smaller than this one (radians) if none was before.
  double least_angle = 0.183;
};

/// What the fit has done.
struct FeatureFitReport {
  Index corners = 0, fitted_corners = 0;
  Index inserted = 0, refused = 0;
};

/// `mesh` is conforming, with a boundary that is a manifold with its vertices on the surface.
TetMeshData fit_features(const TetMeshData& mesh, const MeshDistance& surface, const FeatureFitOptions& options,
                         FeatureFitReport* report = nullptr);

}  // namespace meniscus
