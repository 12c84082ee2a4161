/// Tetrahedral meshes of the inside of triangle surfaces: points scattered on and in the surface, their Delaunay tetrahedra, and
/// those of them whose centre is inside.
///
/// Corners and sharp edges have points first, then the surface, then its inside on a BCC lattice, whose Delaunay tetrahedra are
/// those of the lattice. Points of the surface are the closest ones to a lattice of half the spacing, thinned: they depend on the
/// shape, and not on how it is divided into triangles. Rounds of relaxation move the points inside to the mean of the
/// circumcentres around, weighted by volume; the mesh of the round that falls least short of a radius ratio of 1/2, in sum, is
/// taken.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, section 3.6; Chen and Xu, "Optimal Delaunay
/// triangulations", 2004 (relaxation).
#pragma once

#include "meniscus/mesh/refinement/bcc_lattice.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

namespace meniscus::surface {

struct DelaunayMeshOptions {
  /// Distance of the points, about, m: edge of the cubes of the lattice.
  double spacing = 0;
  /// Edges where normals turn by more than this are sharp, radians; those of surfaces that are not watertight have no points.
  double sharp_angle = 0.6;
  int rounds = 4;
  /// Tetrahedra at the boundary with a smaller radius ratio (1 if regular), and much less volume than one next to them, are left
  /// out.
  double least_ratio = 0.1;
  bool largest_part_only = false;
};

/// The mesh: no tetrahedron is inverted, and its boundary is a manifold. Empty where the surface encloses nothing. Throws
/// InvalidArgument for options out of range and for a spacing that needs too many points.
mesh::TetMeshData mesh_delaunay(const MeshDistance& surface, const DelaunayMeshOptions& options);

}  // namespace meniscus::surface
