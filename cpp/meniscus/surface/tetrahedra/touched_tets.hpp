/// Tetrahedra that a surface touches: exactly those whose closed set has a point in common with a closed triangle. Degenerate
/// triangles and tetrahedra, common planes, and contact in a point count; the orientation of elements does not.
///
/// Boxes of runs of consecutive tetrahedra exclude those far away, so that meshes cost little whose elements with close numbers
/// are close in space, as the children of a subdivision are. Distances of the surface from the nodes exclude them at even less
/// cost.
///
/// Source: Lee 2018, section 3.3.1 (cut cells: "those containing a part of the creature").
#pragma once

#include "meniscus/mesh/search/triangle_tree.hpp"
#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::surface {

/// Whether a closed tetrahedron and a closed triangle have a common point; exact for all finite doubles.
bool tet_meets_triangle(const std::array<mesh::Point, 4>& tet, const std::array<mesh::Point, 3>& triangle);

/// out[t] = whether a triangle of the tree touches tetrahedron t. In parallel. `phi` is empty, or holds for each vertex a number
/// that is not above its distance from the surface in size, m; the answer does not depend on it. `longest_edge` is then a bound
/// of the edges, m. `signs`: whether those of phi differ only where the surface lies between; most tetrahedra that it touches
/// are then known at once.
void touched_tets(const mesh::TetMeshView& mesh, const mesh::TriangleTree& triangles, std::span<const double> phi,
                  double longest_edge, bool signs, std::span<bool> out);

}  // namespace meniscus::surface
