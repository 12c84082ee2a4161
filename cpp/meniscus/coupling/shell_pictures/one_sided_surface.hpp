/// The surface of water beside sheets, as a mesh that nowhere goes through them.
///
/// Marching cubes on a `SheetLattice`: water ends where a sheet cuts an edge of the lattice, and there the mesh follows the
/// sheet, on the side of the wet sample. Every vertex is seen from a wet sample, straight or by way of another vertex, which is
/// seen from one: rays are those of the walls, so this is exact. What is wet on both sides of a sheet has two surfaces there.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.4.1 (one-sided level set); Selle 2008, section 4.6 (pictures);
/// Lorensen and Cline 1987 (marching cubes). Cut edges and the line of contact are our own.
#pragma once

#include "meniscus/coupling/shell_pictures/sheet_lattice.hpp"
#include "meniscus/coupling/shells/shell_walls.hpp"

namespace meniscus::coupling {

template <int D>
struct OneSidedMesh {
  using Point = Vec<double, D>;

  std::vector<Point> vertices;
  /// Unit, out of the water.
  std::vector<Point> normals;
  /// Where each vertex is seen from: it from `way`, and that from a wet sample of the lattice. Most often `way` is the sample.
  std::vector<Point> way, sample;
  /// Triangles with normals out of the water; segments with the water to their left.
  std::vector<std::array<std::int32_t, D>> elements;
  /// 1 for elements that lie on a sheet.
  std::vector<std::uint8_t> wetted;
};

/// `time`, s: of the conditions at the sides of `phi`. Throws InvalidArgument as `SheetLattice`.
template <class T, int D>
OneSidedMesh<D> one_sided_surface(grid::Field<T, D>& phi, const ShellWalls<D>& walls, Index refine, double time);

}  // namespace meniscus::coupling
