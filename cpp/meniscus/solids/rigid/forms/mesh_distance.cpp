// The distance between two meshes, by trees of both.
#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/solids/rigid/forms/closest_segments.hpp"
#include "meniscus/solids/rigid/forms/mesh_pair.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using Corners = std::array<Vector3, 3>;

double squared_distance(const Corners& a, const Corners& b) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < 3; ++k) {
    best = std::min(best, collision::closest_point_on_triangle(a[k], b[0], b[1], b[2]).squared_distance);
    best = std::min(best, collision::closest_point_on_triangle(b[k], a[0], a[1], a[2]).squared_distance);
    for (std::size_t l = 0; l < 3; ++l) {
      const Vector3 d = a[(k + 1) % 3] - a[k], e = b[(l + 1) % 3] - b[l];
      const SegmentPlaces s = closest_on_segments(a[k], d, b[l], e);
      best = std::min(best, (a[k] + s.first * d - b[l] - s.second * e).squaredNorm());
    }
  }
  return best;
}

/// Squared distance of two boxes, the second one as it is around its turned one.
double squared_distance(const mesh::Box& a, const Vector3& center, const Vector3& half) {
  const Vector3 gap = ((center - half) - a.high).cwiseMax(a.low - (center + half)).cwiseMax(0.0);
  return gap.squaredNorm();
}

}  // namespace

double mesh_distance(const RigidForm& a, const FormPose& a_pose, const RigidForm& b, const FormPose& b_pose, double limit,
                     MeshScratch& scratch) {
  const Eigen::Matrix3d turn = a_pose.rotation.transpose() * b_pose.rotation, stretched = turn.cwiseAbs();
  const Vector3 shift = a_pose.rotation.transpose() * (b_pose.position - a_pose.position);
  double best = limit * limit * (1 + 1e-12);
  bool found = false;
  const auto bound = [&](std::int32_t i, std::int32_t j) {
    const mesh::Box& q = b.tree->node(j).box;
    return squared_distance(a.tree->node(i).box, turn * (0.5 * (q.low + q.high)) + shift, stretched * (0.5 * (q.high - q.low)));
  };
  scratch.stack.assign(1, {0, 0});
  while (!scratch.stack.empty()) {
    const auto [i, j] = scratch.stack.back();
    scratch.stack.pop_back();
    if (bound(i, j) >= best) continue;
    const auto &p = a.tree->node(i), &q = b.tree->node(j);
    if (p.leaf() && q.leaf()) {
      for (std::int32_t l = q.first; l < q.first + q.count; ++l) {
        const mesh::Triangle& u = b.triangles[b.tree->order()[l]];
        Corners y;
        for (std::size_t k = 0; k < 3; ++k) y[k] = turn * b.vertices[u[k]] + shift;
        for (std::int32_t m = p.first; m < p.first + p.count; ++m) {
          const mesh::Triangle& t = a.triangles[a.tree->order()[m]];
          Corners x;
          for (std::size_t k = 0; k < 3; ++k) x[k] = a.vertices[t[k]];
          const double d = squared_distance(x, y);
          if (d < best) best = d, found = true;
        }
      }
      continue;
    }
    // The nearer child comes first, so that the others are mostly left out.
    const bool split_first = q.leaf() || (!p.leaf() && p.count >= q.count);
    std::array<std::int32_t, 2> near = split_first ? std::array{p.child, j} : std::array{i, q.child};
    std::array<std::int32_t, 2> far = split_first ? std::array{p.child + 1, j} : std::array{i, q.child + 1};
    if (bound(far[0], far[1]) < bound(near[0], near[1])) std::swap(near, far);
    scratch.stack.push_back(far);
    scratch.stack.push_back(near);
  }
  return found ? std::sqrt(best) : std::numeric_limits<double>::infinity();
}

}  // namespace meniscus::solids
