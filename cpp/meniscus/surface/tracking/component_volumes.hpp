/// Volumes of the parts of a surface, and the small offset that brings them back.
///
/// An improvement of the mesh shifts volume in and out, by flips and smoothing where the surface is curved. Closed parts get it
/// back by an offset along their normals that is the same for a whole part: at most a few thousandths of an edge.
///
/// Source: Müller, "Fast and robust tracking of fluid surfaces", 2009, and Brochu 2012, section 7.7.1 (an offset against drift of
/// the volume); that it only takes back what operations did, part by part, is ours.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <vector>

namespace meniscus::surface {

struct ComponentVolumes {
  /// The part of each vertex: a number, or -1 for vertices without triangles.
  std::vector<std::int32_t> part;
  /// m^3, m^2; whether the part has no boundary.
  std::vector<double> volume, area;
  std::vector<std::uint8_t> closed;
};

ComponentVolumes measure_components(const mesh::TriangleMeshView& surface);

/// Displacements that give the closed parts `missing` volume each, m^3, to first order: along the normals of their vertices.
void offset_components(const mesh::TriangleMeshView& surface, const ComponentVolumes& parts, std::span<const double> missing,
                       std::span<mesh::Point> out);

}  // namespace meniscus::surface
