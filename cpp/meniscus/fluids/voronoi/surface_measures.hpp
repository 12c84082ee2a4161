/// Measures of the surface of a liquid in a box: volumes, areas and moments of its parts, and its curvature.
#pragma once

#include "meniscus/mesh/search/box.hpp"

#include <vector>

namespace meniscus::fluids {

/// Of what a part of a closed surface encloses in a box: volume, m^3, first moment, m^4; and its area in the box, m^2.
struct PartMeasure {
  double volume = 0;
  mesh::Point moment = mesh::Point::Zero();
  double area = 0;
};

/// Adds the measures of triangles to those of their parts. What is outside of the box counts as moved to the closest point of its
/// walls, which changes nothing inside; so surfaces may go through the walls.
void measure_in_box(const mesh::TriangleMeshView& surface, std::span<const std::int32_t> part, const mesh::Box& box,
                    std::span<PartMeasure> out);

/// The sum of both principal curvatures at vertices, 1/m, positive where the surface is convex; at most `limit` in magnitude.
///
/// Source: Brochu 2012, sections 3.3.2 and 7.5.1; Meyer et al. 2002.
void vertex_curvature(const mesh::TriangleMeshView& surface, std::span<const mesh::Point> normals, double limit,
                      std::span<double> out);

}  // namespace meniscus::fluids
