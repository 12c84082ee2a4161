// Seams between bodies side by side, as between the tiles of a floor. What rests on one tile is in it by a part of the slop, and
// would meet the edge of the next one from the side: with such a point, a ball jumps and a box stops. Where the surface of the
// next body is flush with that on which something already rests, its edge is none.
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

/// Heights that count as none, in slops; cosine between normals that count as one.
constexpr double flush = 2, parallel = 0.999;

/// Whether points are on a line but for a distance, as those at an edge are.
bool in_a_line(std::span<const ContactPoint> points, double distance) {
  Vector3 along = Vector3::Zero();
  for (const ContactPoint& c : points)
    if ((c.point - points[0].point).squaredNorm() > along.squaredNorm()) along = c.point - points[0].point;
  const double length = along.norm();
  return std::ranges::all_of(
      points, [&](const ContactPoint& c) { return along.cross(Vector3(c.point - points[0].point)).norm() <= distance * length; });
}

/// Whether a polyhedron ends at a point with a face across a normal.
bool ends_flush(const RigidForm& form, const FormPose& pose, const Vector3& at, const Vector3& normal, double distance) {
  const Vector3 own = pose.rotation.transpose() * (at - pose.position), n = pose.rotation.transpose() * normal;
  for (std::size_t f = 0; f < form.faces.size(); ++f)
    if (form.faces.normals[f].dot(n) > parallel && std::abs(form.faces.normals[f].dot(own) - form.faces.offsets[f]) <= distance)
      return true;
  return false;
}

}  // namespace

void RigidSystem::leave_out_seams() {
  const double near = flush * options.slop;
  const auto polyhedron = [&](std::int32_t b) {
    return parts[b].form->kind == FormKind::convex && parts[b].form->faces.size() > 0;
  };
  edges_.clear();
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const auto points = manifolds_[k].points();
    if (!points.empty() && (polyhedron(pairs_[k][0]) || polyhedron(pairs_[k][1])) && in_a_line(points, near)) edges_.push_back(k);
  }
  if (edges_.empty()) return;
  pairs_at_.assign(parts.size() + 1, 0);
  for (const auto& p : pairs_)
    for (const Index b : p) ++pairs_at_[b + 1];
  for (std::size_t b = 0; b < parts.size(); ++b) pairs_at_[b + 1] += pairs_at_[b];
  pairs_of_.resize(2 * pairs_.size());
  for (std::size_t k = pairs_.size(); k-- > 0;)
    for (const Index b : pairs_[k]) pairs_of_[--pairs_at_[b + 1]] = k;
  const auto pairs_of = [&](Index b) {
    const Index next = b + 1;
    const std::size_t end = next < std::ssize(parts) ? pairs_at_[next + 1] : pairs_of_.size();
    return std::span<const std::size_t>(pairs_of_.data() + pairs_at_[next], end - pairs_at_[next]);
  };
  // The surface of the other body of a pair at a point, and the normal from there to this one.
  const auto normal_to = [&](std::size_t pair, std::int32_t body, const ContactPoint& c) {
    return pairs_[pair][0] == body ? c.normal : Vector3(-c.normal);
  };
  const auto leaves_out = [&](std::size_t k, std::int32_t body, std::int32_t tile, std::size_t other) {
    const auto points = manifolds_[k].points();
    return std::ranges::any_of(manifolds_[other].points(), [&](const ContactPoint& c) {
      if (c.gap > near) return false;
      const Vector3 n = normal_to(other, body, c), on = c.point - 0.5 * c.gap * n;
      return std::ranges::all_of(points, [&](const ContactPoint& e) {
        const Vector3 m = normal_to(k, body, e), at = e.point - 0.5 * e.gap * m;
        return m.dot(n) <= parallel && std::abs(n.dot(at - on)) <= near && ends_flush(*parts[tile].form, pose(tile), at, n, near);
      });
    });
  };
  dropped_.assign(edges_.size(), 0);
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const auto k = edges_[i];
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int32_t body = pairs_[k][side], tile = pairs_[k][1 - side];
      if (!parts[body].dynamic() || !polyhedron(tile)) continue;
      for (const std::size_t other : pairs_of(body))
        if (other != k && leaves_out(k, body, tile, other)) dropped_[i] = 1;
    }
  }
  for (std::size_t i = 0; i < edges_.size(); ++i)
    if (dropped_[i]) manifolds_[edges_[i]].clear();
}

}  // namespace meniscus::solids
