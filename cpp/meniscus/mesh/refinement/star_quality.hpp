/// The worst of the tetrahedra around a vertex as a function of its position. What does not depend on it is computed once.
#pragma once

#include "meniscus/mesh/refinement/tet_editing.hpp"

namespace meniscus::mesh {

class StarQuality {
 public:
  /// Takes the tetrahedra around a vertex of the mesh as they are now. Memory is reused.
  void assign(const TetEditor& mesh, std::int32_t v);

  /// The least `min_sine` with the vertex at x, up to round-off, or any value at most `enough` if it is not larger than that.
  double at(const Point& x, double enough);

 private:
  /// The face opposite of the vertex: corners b, c, d, counter-clockwise as seen from the vertex, normal c - b times d - b.
  struct Opposite {
    Point b, c, d, normal;
    double area, bc, bd, cd;  // squares of twice the area and of the lengths
  };
  static double quality(const Opposite& face, const Point& x, double enough);

  std::vector<Opposite> faces_;
  /// The tetrahedron that refused the last position, since it is likely to refuse the next; it changes no result.
  std::size_t first_ = 0;
};

}  // namespace meniscus::mesh
