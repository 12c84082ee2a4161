/// Tetrahedral meshes whose boundary follows the sharp edges and the details of a triangle surface.
///
/// The input mesh is already fitted to the surface at its vertices. Wherever its boundary is farther from the surface
/// than a tolerance, a vertex is moved onto the crease there, or an edge is split on it, or on the surface where there
/// is no crease. The tetrahedra around are then improved: vertices move (on creases along these, on the surface along
/// it), edges are contracted and the tetrahedra around edges are changed. Each step is undone if an angle stays below
/// the bound, or if boundary faces would touch others; so the bound holds and the mesh is embedded all the time.
///
/// The number of steps that are tried is bounded by the number of boundary faces of the input. Where the surface has details that
/// the lattice does not resolve, the boundary stays farther away than wanted.
///
/// Sources: Klingner and Shewchuk, "Aggressive tetrahedral mesh improvement", 2007 (improvement); Lee 2018, section 2.3.1
/// (compression of a lattice mesh to a surface).
#pragma once

#include "meniscus/mesh/refinement/bcc_lattice.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

namespace meniscus::surface {

struct FeatureMeshingOptions {
  /// Edge of the cubes of the lattice at the surface, m.
  double cell = 0;
  /// Edges where normals turn by more than this are sharp, radians.
  double sharp_angle = 0.6;
  /// Largest distance of the boundary from the surface, in cells, measured at samples of its triangles.
  double tolerance = 0.025;
  /// No dihedral angle gets smaller than this one (radians) if none was before, and none larger than 180 degrees less 1.45 times
  /// it.
  double min_angle = 0.183;
};

/// `mesh` is embedded, with a boundary that is a manifold with its vertices on the surface; so is the result. Where the angles do
/// not allow it, the boundary stays farther away than the tolerance. Throws InvalidArgument for options that make no sense.
mesh::TetMeshData mesh_features(const mesh::TetMeshData& mesh, const MeshDistance& surface, const FeatureMeshingOptions& options);

}  // namespace meniscus::surface
