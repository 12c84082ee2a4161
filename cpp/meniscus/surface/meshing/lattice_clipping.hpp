/// Lattice tetrahedra fitted to a surface: nodes close to it are moved onto it, tetrahedra across it are cut.
///
/// Source: Labelle and Shewchuk, "Isosurface stuffing: fast tetrahedral meshes with good dihedral angles", 2007.
#pragma once

#include "meniscus/surface/meshing/bcc_meshing.hpp"

namespace meniscus::surface {

/// The part of a mesh in which a level set is negative. All tetrahedra with a node of another sign beside them have to be BCC
/// tetrahedra of one size. `values` are those at the vertices; zero counts as outside. Parts of the result may touch in edges or
/// vertices only.
mesh::TetMeshData clip_lattice(const LevelSetFunction& phi, const mesh::TetMeshData& lattice, std::span<const double> values);

}  // namespace meniscus::surface
