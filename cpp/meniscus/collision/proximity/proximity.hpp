/// Proximity of a vertex and a face, or of two edges: distance, closest points and separating direction, and the data that a
/// response to their collision within a step needs.
///
/// Sources: Brochu 2012, sections 3.2.3 and 4.5.5; Ericson, "Real-time collision detection", 2005, sections 5.1.5 and 5.1.9.
#pragma once

#include "meniscus/collision/continuous/continuous_collision.hpp"

namespace meniscus::collision {

/// The closest points of two elements.
struct ElementProximity {
  /// m.
  double distance;
  /// Barycentric coordinates of the closest points, for the four points of the stencil; those of the second element are negative,
  /// so that the distance is the length of the sum of weight times position.
  std::array<double, 4> weights;
  /// The point on the first element (vertex, edge) and on the second (face, edge).
  mesh::Point first;
  mesh::Point second;
  /// Of length 1, from the second to the first. Where they touch, perpendicular to the face or to both edges, of either sign;
  /// where such a direction does not exist, perpendicular to the longest edge.
  mesh::Point normal;
};

/// Elements may be degenerate in every way, edges parallel, coordinates of any magnitude.
ElementProximity proximity(PairKind kind, const std::array<mesh::Point, 4>& stencil);

/// Source of the normal of a contact.
enum class NormalSource : std::int8_t { middle, end, element, start, perpendicular, axis };

/// The geometry of a contact within a step, without a time of impact: that of the middle of the step.
struct ContactGeometry {
  /// As in ElementProximity, in the middle of the step.
  std::array<double, 4> weights;
  double distance;
  /// From the second element to the first in the middle of the step. Where they touch then, the same at the end; else the normal
  /// of the face, or the one across both edges, at the start; else the direction between them at the start; else perpendicular to
  /// the longest edge; else (0, 1, 0). Those after the first two point to where the first element started.
  mesh::Point normal;
  /// Of the first element relative to the second along the normal over the step, m.
  double normal_displacement;
  NormalSource source;
};

/// "Touch" is a distance below this multiple of the extent of the stencil, at the start or at the end, whichever is greater.
constexpr double contact_tolerance = 1e-8;

ContactGeometry contact_geometry(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end);

/// Output arrays of many pairs: row i belongs to pair i.
struct ProximityArrays {
  double* distance;
  std::array<double, 4>* weights;
  mesh::Point* first;
  mesh::Point* second;
  mesh::Point* normal;
};
struct ContactArrays {
  std::array<double, 4>* weights;
  double* distance;
  mesh::Point* normal;
  double* normal_displacement;
  std::int8_t* source;
};

/// The same for many, in parallel.
void point_triangle_proximities(std::span<const mesh::Point> points, std::span<const std::array<mesh::Point, 3>> triangles,
                                const ProximityArrays& out);
void edge_edge_proximities(std::span<const std::array<mesh::Point, 2>> first, std::span<const std::array<mesh::Point, 2>> second,
                           const ProximityArrays& out);
void contact_geometries(PairKind kind, std::span<const std::array<mesh::Point, 4>> start,
                        std::span<const std::array<mesh::Point, 4>> end, const ContactArrays& out);

}  // namespace meniscus::collision
