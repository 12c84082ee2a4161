/// Continuous collision detection of many pairs that share no points: each pair brings its own, in parallel.
///
/// Positions come as rows of points, pair after pair: four points each, in the plane three. All functions throw InvalidArgument
/// that names the first pair with a position that is not finite.
///
/// Source: Brochu 2012, chapter 4; the methods are those of continuous_collision.hpp, cubic_ccd.hpp and space_time_simplex.hpp.
#pragma once

#include "meniscus/collision/continuous/space_time_simplex.hpp"

namespace meniscus::collision {

/// Positions of the points of all pairs at both ends of a step; equally many at either end.
struct SeparatePairs {
  std::span<const mesh::Point> start, end;

  Index size() const { return static_cast<Index>(start.size() / 4); }
};

/// out[i] is 1 where pair i collides.
void find_contacts(PairKind kind, ContactMode mode, const SeparatePairs& pairs, std::span<std::uint8_t> out);

/// A time of impact for each pair, as in `find_times_of_impact` for stencils.
void find_times_of_impact(PairKind kind, const SeparatePairs& pairs, double tolerance, std::span<double> out);

/// Times by the roots of cubics.
void find_cubic_contacts(PairKind kind, const SeparatePairs& pairs, double tolerance, std::span<double> out);

/// Contacts of simplices in space and time as columns: times (n), normals (n rows of the dimension) and displacements (n).
struct SpaceTimeColumns {
  double *time, *normal, *displacement;
};

/// Contacts of simplices in space and time. `indices`: the vertices of each pair in their mesh; empty: 0, 1, 2, 3 for all.
void find_space_time_contacts(PairKind kind, SimplexMethod method, const SeparatePairs& pairs,
                              std::span<const std::array<std::int32_t, 4>> indices, const SpaceTimeColumns& out);

/// The same in the plane: a point and the ends of a segment each. `start` and `end` hold three points of the plane per pair.
void find_space_time_contacts(SimplexMethod method, std::span<const Vec<double, 2>> start, std::span<const Vec<double, 2>> end,
                              std::span<const std::array<std::int32_t, 3>> indices, const SpaceTimeColumns& out);

}  // namespace meniscus::collision
