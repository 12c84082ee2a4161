/// Quadric of a vertex: the sum of n n^T over its triangles, weighted with their areas. Its eigenvectors split space into one
/// part in which the surface has corners or ridges at the vertex, and one along which it is smooth.
///
/// Source: Brochu 2012, sections 3.2.4 and 3.3.1; Jiao, "Face offsetting: a unified approach for explicit moving interfaces",
/// 2007.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::surface {

struct VertexQuadric {
  /// Descending.
  mesh::Point values;
  /// Columns, in the order of the values.
  Eigen::Matrix3d vectors;

  /// 1 on a smooth surface, 2 on a ridge, 3 at a corner: eigenvalues above a part of the largest.
  int rank(double part) const {
    return 1 + static_cast<int>(values[1] > part * values[0]) + static_cast<int>(values[2] > part * values[0]);
  }
};

/// Of a symmetric matrix without negative eigenvalues.
VertexQuadric split_quadric(const Eigen::Matrix3d& matrix);

/// Adds a triangle with an area vector (twice its area times its normal) to a quadric.
inline void add_to_quadric(const mesh::Point& area_vector, Eigen::Matrix3d& quadric) {
  const double size = area_vector.norm();
  if (size > 0) quadric += area_vector * (area_vector.transpose() / (2 * size));
}

}  // namespace meniscus::surface
