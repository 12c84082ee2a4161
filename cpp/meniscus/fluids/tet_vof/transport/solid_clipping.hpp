/// Paths of vertices that end where they meet a solid.
///
/// Source: Lee 2018, section 3.3.2.
#pragma once

#include "meniscus/fluids/tet_vof/transport/near_location.hpp"

namespace meniscus::fluids {

/// Where the corners of a tetrahedron are at the time of `end`, if they keep their place beside the solid: where its distances
/// at the vertices stay nearly the same while the mesh moves, the mesh carries them along; else they stay where they are at the
/// time of `begin`. A path from there to where water is traced shows on which side of a moving solid it was.
std::array<mesh::Point, 4> carried_by_solid(const mesh::Tet& tet, const PlacedMesh& begin, const PlacedMesh& end,
                                            std::span<const double> distance_begin, std::span<const double> distance_end);

/// Moves the ends y of the paths of a tetrahedron's corners, which begin at x, back to where they enter the solid, if they begin
/// outside of it; those that begin inside go no larger part of their paths than any other. `distance_begin` holds signed
/// distances at the vertices at the time at which the tetrahedron is asked for, m; `distance_end` those at the time of y, on the
/// mesh of `end`. Between, the distance is taken along the path at steps of at most an edge. Returns whether the solid may be in
/// the way at all.
bool stop_at_solid(const mesh::Tet& tet, const std::array<mesh::Point, 4>& x, std::span<const double> distance_begin,
                   std::span<const double> distance_end, NearLocation& end, std::array<mesh::Point, 4>& y);

/// The last tetrahedron on a straight path before it enters one that is inside of the solid; -1 where nothing is in the way, also
/// if it begins inside. What only cuts a corner, and comes out next to where it went in, goes on: there the tetrahedra have a
/// vertex outside of the solid in common, by the signed distances at the vertices. `step` m is how often a path is looked at that
/// leaves the mesh.
std::int32_t last_before_solid(const mesh::Point& begin, const mesh::Point& end, double step, std::span<const std::int32_t> ranks,
                               std::span<const double> distance, NearLocation& mesh);

/// Where a straight path that ends outside of the mesh leaves it for the first time, to within a quarter of `step` m.
mesh::Point leaving_point(const mesh::Point& begin, const mesh::Point& end, double step, NearLocation& mesh);

}  // namespace meniscus::fluids
