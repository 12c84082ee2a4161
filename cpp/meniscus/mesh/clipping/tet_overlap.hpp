/// Overlap of two tetrahedra, alone or with a half-space.
///
/// The smaller tetrahedron is clipped in its own barycentric coordinates by the faces of the larger one. So the volume is a part
/// in [0, 1] of the smaller volume, however thin the two are and however far from the origin. The plane of a face is evaluated in
/// an order that depends on the positions of its corners alone: the two tetrahedra of a mesh that share a face cut at the same
/// bits, and the overlaps with all tetrahedra of a mesh sum to the volume inside of it up to rounding of the sum.
///
/// Source: Lee 2018, section 3.3.2 (the overlap that its samples estimate); Powell and Abel, "An exact general remeshing scheme
/// applied to physically conservative voxelization", 2015.
#pragma once

#include "meniscus/mesh/clipping/convex_polyhedron.hpp"

namespace meniscus::mesh {

/// What a and b have in common.
struct TetOverlap {
  /// m^3, from 0 to the smaller of the two volumes.
  double volume = 0;
  /// Volume times centroid, m^4.
  Point moment = Point::Zero();
  /// Whether a goes on through the face of b opposite of corner k. The tetrahedra of a conforming mesh that overlap with a are
  /// reached from any one of them across these faces. False where a ends at the face up to rounding.
  std::array<bool, 4> crosses{};
};

/// The points x with normal . (x - origin) <= offset. The normal need not be a unit vector; an origin near the tetrahedra keeps
/// digits when they are far from 0.
struct HalfSpace {
  Point normal;
  double offset = 0;
  Point origin = Point::Zero();
};

/// Tetrahedra of any orientation. A corner within rounding of the plane of a face counts as on it, so that tetrahedra which only
/// touch have no overlap, and equal ones exactly their volume. A flat tetrahedron overlaps with nothing.
TetOverlap overlap(const std::array<Point, 4>& a, const std::array<Point, 4>& b);

/// The part of the overlap in a half-space. `crosses` is as without it.
TetOverlap overlap(const std::array<Point, 4>& a, const std::array<Point, 4>& b, const HalfSpace& half_space);

/// out[i] = the volume that a[i] and b[i] have in common, m^3, in parallel.
void overlap_volumes(std::span<const std::array<Point, 4>> a, std::span<const std::array<Point, 4>> b, std::span<double> out);

}  // namespace meniscus::mesh
