/// Tetrahedral meshes of the inside of triangle surfaces: a lattice mesh that is fitted and then follows the sharp edges.
#pragma once

#include "meniscus/surface/meshing/bcc_meshing.hpp"
#include "meniscus/surface/meshing/boundary_deviation.hpp"

namespace meniscus::surface {

/// A mesh, and where it is farthest from its surface.
struct FittedMesh {
  mesh::TetMeshData mesh;
  /// The largest distance between the boundary and the surface, measured from both sides at samples a tenth of the finest cells
  /// apart; zero if it is at most twice the wanted deviation. From the side of the boundary only if parts are left out.
  Deviation deviation;
};

/// Where a mesh has lost a part of its surface.
struct UnresolvedPart {
  /// The farthest point of the surface from the boundary; infinite for a mesh without tetrahedra, 0 if nothing is lost.
  Deviation deviation;
  /// The volume of the mesh over that of the solid; 1 if the surface crosses itself or is not closed.
  double volume = 1;
  /// Thickness of the solid where something is lost, below which a quarter of its surface has it, m; 0 where it encloses nothing.
  double thickness = 0;
};

/// The part of a surface whose points, half a cell apart, are farther than `reach` (m) from the boundary of a mesh of its inside;
/// its thickness is also found if a quarter of the volume is missing.
UnresolvedPart unresolved_part(const MeshDistance& surface, const mesh::TetMeshView& mesh, double cell, double reach);

/// The mesh of the inside of a watertight surface, as by `mesh_level_set` with `fit_surface`, with its sharp edges and within
/// `deviation` (in cells of the finest lattice) of it. The box must contain the surface.
FittedMesh mesh_surface(const MeshDistance& surface, const Bounds<3>& box, const BccMeshOptions& options, double sharp_angle,
                        double deviation);

}  // namespace meniscus::surface
