/// Quality measures of triangles and tetrahedra, and the degenerate elements of a deformed mesh.
///
/// Source: Lee 2018, section 3.6 (degenerate elements); Shewchuk, "What is a good linear finite element?", 2002 (measures of
/// quality).
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::mesh {

/// Quality of one element. No value is NaN, however degenerate the element is: ratios are then 0.
struct ElementQuality {
  /// Smallest and largest angle, radians: dihedral angles of a tetrahedron, angles of a triangle.
  double smallest_angle = 0;
  double largest_angle = 0;
  /// Smallest altitude / longest edge: sqrt(2/3) of a regular tetrahedron, sqrt(3/4) of a regular triangle.
  double aspect = 0;
  /// Dimension times inradius / circumradius: 1 if regular.
  double radius_ratio = 0;
};

ElementQuality tet_quality(const std::array<Point, 4>& corners);
ElementQuality triangle_quality(const std::array<Point, 3>& corners);

/// Measures all elements in parallel.
void measure_quality(const TetMeshView& mesh, std::span<ElementQuality> out);
void measure_quality(const TriangleMeshView& mesh, std::span<ElementQuality> out);

/// out[t] = the signed volume is at most `min_volume` times `rest_volumes[t]`, or the aspect is below `min_aspect`, or either
/// is NaN. Returns the number of such elements.
Index find_degenerate(const TetMeshView& mesh, std::span<const double> rest_volumes, double min_volume, double min_aspect,
                      std::span<bool> out);

}  // namespace meniscus::mesh
