/// Continuous collision detection: whether two moving elements touch within a step, exact for every finite double.
///
/// A vertex and a face, or two edges, move from their start positions (t = 0) to their end positions (t = 1). Each point moves
/// straight at constant speed, in real arithmetic. Contact at t = 0 or 1 or with the rim of an element counts.
///
/// Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, chapter 4 and appendix A.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

#include <span>

namespace meniscus::collision {

/// Kind of pair that four points form.
enum class PairKind : std::int8_t {
  /// The vertex, then the corners of the face.
  vertex_face,
  /// The ends of one edge, then of the other.
  edge_edge,
};

/// Definition of a collision.
enum class ContactMode : std::int8_t {
  /// A contact on the border of the parameters (t = 0 or 1, the rim of an element), or an odd number of contacts within, where
  /// those that only touch count twice.
  parity,
  /// Any contact.
  any,
};

/// Four points as positions in an array of positions.
using Stencil = std::array<std::int32_t, 4>;

/// Tests pairs whose points are rows of `start` and `end`: out[i] is 1 if pair i collides. Serial, and nothing is allocated
/// except for coordinates with thousands of bits between them. Call it with some hundred pairs at a time from a parallel loop.
/// All positions must be finite.
void find_contacts(PairKind kind, ContactMode mode, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                   std::span<const Stencil> pairs, std::uint8_t* out);

/// For each pair a time in [0, 1] that is never later than its first contact of any kind, and at most `tolerance` (> 0)
/// earlier, or as much as the last bits of a double: 0 for contact at the start, infinity for none. Times greater than
/// `latest` are also returned as infinity; `latest` has no other effect. Serial, and nothing is allocated except for
/// coordinates with thousands of bits between them.
void find_times_of_impact(PairKind kind, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                          std::span<const Stencil> pairs, double tolerance, double latest, double* out);

/// The same for one pair of four points.
inline double time_of_impact(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
                             double tolerance, double latest = 1) {
  constexpr Stencil pair{0, 1, 2, 3};
  double t = 0;
  find_times_of_impact(kind, start, end, std::span(&pair, 1), tolerance, latest, &t);
  return t;
}

}  // namespace meniscus::collision
