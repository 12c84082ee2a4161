/// Tetrahedral meshes of solids given by level sets, from a BCC lattice.
///
/// Without `fit_surface` the mesh consists of red and green tetrahedra of the lattice, whose dihedral angles are in [30, 116.57]
/// degrees. With it, lattice nodes close to the surface are moved onto it and tetrahedra across it are cut, after Labelle and
/// Shewchuk. All dihedral angles then stay between 10 and 165 degrees for any surface. This is not proved; it was found by a
/// search over random values at the nodes (smallest angle found: 11.2 degrees).
///
/// Sources: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
/// tetrahedra", 2003; Labelle and Shewchuk, "Isosurface stuffing: fast tetrahedral meshes with good dihedral angles", 2007; Lee
/// 2018, section 2.3.1.
#pragma once

#include "meniscus/mesh/refinement/bcc_lattice.hpp"
#include "meniscus/surface/shapes/implicit_shape.hpp"

#include <functional>

namespace meniscus::surface {

/// Sets values[i] to the level set at points[i]: negative inside, m. Its slope should not exceed one: a part of the solid between
/// lattice nodes is found only if the values at these are at most its distance.
using LevelSetFunction = std::function<void(std::span<const mesh::Point> points, std::span<double> values)>;

/// Tetrahedra of the lattice that make up a mesh that is not fitted.
enum class TetSelection {
  covering,  ///< all that the solid reaches into, as far as nodes, edge and face centres tell
  centred,   ///< those with their centre inside
};

struct BccMeshOptions {
  /// Edge of the cubes of the coarse lattice, m.
  double cell = 0;
  /// Number of refinements of tetrahedra at the surface: their cubes have an edge of cell / 2^refinements.
  int refinements = 0;
  bool fit_surface = false;
  TetSelection keep = TetSelection::covering;
  /// Return only the part with the largest volume.
  bool largest_part_only = false;
  /// Tetrahedra deeper than this are left out: those with all nodes below -depth, m. Infinite keeps all.
  double depth = std::numeric_limits<double>::infinity();
};

/// The mesh of {phi <= 0} within a box. Along its sides the solid ends there. Vertices and tetrahedra lie along
/// Morton curves; the boundary is a manifold. Throws InvalidArgument for values that are not finite, and for invalid
/// options. An empty solid has an empty mesh.
mesh::TetMeshData mesh_level_set(const LevelSetFunction& phi, const Bounds<3>& box, const BccMeshOptions& options);

/// Leaves out tetrahedra, and all parts but the one with the largest volume; vertices stay.
void keep_only(mesh::TetMeshData& mesh, const std::vector<bool>& kept);
void keep_largest_part(mesh::TetMeshData& mesh);

}  // namespace meniscus::surface
