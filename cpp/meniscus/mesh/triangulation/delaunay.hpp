/// Delaunay tetrahedra of points: no point lies inside of the sphere through the corners of any of them.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <vector>

namespace meniscus::mesh {

/// The Delaunay tetrahedra of points, of positive volume; together they fill the convex hull.
///
/// Points are inserted one by one: a walk finds the tetrahedron around a point, all tetrahedra whose spheres it lies in are
/// removed, and the hole is filled with tetrahedra between its faces and the point. Signs are exact. More than four points on a
/// sphere are told apart as if their squared distances to the origin, the heights of the lifted points, were raised by infinitely
/// small amounts, the more the later a point stands in lexicographic order. So the tetrahedra depend on the points alone, not on
/// their order, and lattices are no special case. A point that equals an earlier one gets no tetrahedron.
///
/// Throws InvalidArgument where a coordinate is not finite, and where all points lie in a plane.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, section 3.6; Bowyer, "Computing Dirichlet tessellations",
/// 1981; Watson 1981 (the insertion); Devillers and Teillaud, "Perturbations for Delaunay and weighted Delaunay 3D
/// triangulations", 2011 (ties).
std::vector<Tet> delaunay(std::span<const Point> points);

/// Tetrahedra and, opposite of each of their corners, the neighbour: -1 at the hull.
struct LinkedTets {
  std::vector<Tet> tets, neighbours;
};

/// The same with neighbours.
LinkedTets linked_delaunay(std::span<const Point> points);

}  // namespace meniscus::mesh
