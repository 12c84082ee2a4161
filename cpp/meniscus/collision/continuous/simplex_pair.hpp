/// Intersection of two simplices in space and time, exact for every finite double.
///
/// A vertex of a simplex is a position at the start (t = 0) or the end (t = 1) of the step. Two simplices with d + 3 vertices in
/// all, in d = 2 or 3 dimensions of space and one of time, meet where a point is a convex combination of the vertices of either:
/// a linear system for the weights w, whose rows are the coordinates and the sums of the weights at either time. They meet if the
/// kernel of its matrix has a vector with w >= 0 on the first simplex and w <= 0 on the second, which is not zero.
///
/// Degenerate pairs: such vectors form a cone, and one on an edge of the cone has as many vertices with a weight as the rank of
/// their columns is, plus one. So where the kernel of all columns has more than one dimension, it is enough to ask the same of
/// all pairs with one vertex less, down to two vertices that coincide.
///
/// Source: Brochu 2012, sections 4.3 and 4.4.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <optional>

namespace meniscus::collision {

/// Methods for the linear systems.
enum class SimplexMethod : std::int8_t {
  /// Signs of determinants by Cramer's rule, filtered by floating point.
  cramer,
  /// Fraction-free elimination (Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination", 1968) over
  /// expansions, or over long integers where the range of the coordinates is too wide.
  elimination,
  /// The same over long integers.
  integer_elimination,
};

/// The vertices of both simplices; the masks have one bit for each.
struct SimplexPair {
  int dimension = 3;
  int count = 0;
  std::array<mesh::Point, 6> vertex;
  unsigned at_end = 0;
  unsigned second = 0;

  void add(const mesh::Point& p, bool end, bool of_second) {
    vertex[count] = p;
    at_end |= static_cast<unsigned>(end) << count;
    second |= static_cast<unsigned>(of_second) << count;
    ++count;
  }
};

struct SimplexContact {
  bool contact = false;
  /// Time of a common point; if there are several, of an arbitrary one.
  double time = 0;
};

/// The answer of Cramer's rule in floating point, if round-off cannot have changed it.
std::optional<SimplexContact> intersect_if_certain(const SimplexPair& pair);

/// All positions must be finite; in two dimensions the third coordinate is not read.
SimplexContact intersect(const SimplexPair& pair, SimplexMethod method);

}  // namespace meniscus::collision
