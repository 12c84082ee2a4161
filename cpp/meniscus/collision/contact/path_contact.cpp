#include "meniscus/collision/contact/path_contact.hpp"

#include "meniscus/collision/proximity/proximity.hpp"

#include <cmath>

namespace meniscus::collision {
namespace {

/// Of a step: how much earlier than the contact its geometry may be taken.
constexpr double time_tolerance = 1e-7;
/// A normal is of use when this part of the relative motion is along it, and when the pair has at least this gap along it at the
/// start, relative to the motion.
constexpr double least_approach_on_path = 1e-4;

}  // namespace

PathContact path_contact(PairKind kind, const ElementPair& pair, const Stencil& vertices, std::span<const mesh::Point> start,
                         std::span<const mesh::Point> end) {
  std::array<mesh::Point, 4> from, to, at;
  for (std::size_t k = 0; k < 4; ++k) {
    from[k] = start[vertices[k]];
    to[k] = end[vertices[k]];
  }
  const double t = std::min(1.0, time_of_impact(kind, from, to, time_tolerance));
  for (std::size_t k = 0; k < 4; ++k) at[k] = from[k] + t * (to[k] - from[k]);
  const ElementProximity close = proximity(kind, at);

  PathContact contact{kind, pair, vertices, close.weights, close.normal, t};
  mesh::Point motion = mesh::Point::Zero();
  // The weights have the sum 0: a sum of differences.
  for (std::size_t k = 0; k < 4; ++k) motion += close.weights[k] * (to[k] - from[k]);
  mesh::Point gap = mesh::Point::Zero();
  for (std::size_t k = 1; k < 4; ++k) gap += close.weights[k] * (from[k] - from[0]);

  const double speed = motion.norm();
  if (!(speed > 0)) return contact;
  const bool face = kind == PairKind::vertex_face;
  const mesh::Point a = face ? mesh::Point(at[2] - at[1]) : mesh::Point(at[1] - at[0]);
  const mesh::Point b = face ? mesh::Point(at[3] - at[1]) : mesh::Point(at[3] - at[2]);
  mesh::Point across = a.cross(b);
  const double area = across.norm();
  if (area > 1e-10 * a.norm() * b.norm()) {
    across *= (across.dot(motion) > 0 ? -1 : 1) / area;
    if (-across.dot(motion) >= least_approach_on_path * speed && across.dot(gap) >= least_approach_on_path * t * speed) {
      contact.normal = across;
      return contact;
    }
  }
  contact.normal = -motion / speed;
  return contact;
}

}  // namespace meniscus::collision
