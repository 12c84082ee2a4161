#include "meniscus/solids/rigid/forms/mesh_pair.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/solids/rigid/forms/closest_segments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

using collision::TriangleFeature;

std::uint64_t key_of_elements(std::uint64_t kind, std::int32_t a, std::int32_t b) {
  return kind << 60 | static_cast<std::uint64_t>(a) << 30 | static_cast<std::uint64_t>(b);
}

/// A mesh as seen from the other: in whose axes everything is measured.
struct Seen {
  const RigidForm& form;
  Eigen::Matrix3d rotation;
  Vector3 shift;
  Vector3 at(std::int32_t v) const { return rotation * form.vertices[v] + shift; }
  Vector3 normal(std::int32_t face) const { return rotation * form.faces.normals[face]; }
};

/// Triangles whose boxes come within `reach` of each other, into `scratch.triangles`.
void near_triangles(const RigidForm& a, const Seen& b, double reach, MeshScratch& scratch) {
  scratch.triangles.clear();
  scratch.stack.assign(1, {0, 0});
  const Eigen::Matrix3d stretched = b.rotation.cwiseAbs();
  while (!scratch.stack.empty()) {
    const auto [i, j] = scratch.stack.back();
    scratch.stack.pop_back();
    const auto &p = a.tree->node(i), &q = b.form.tree->node(j);
    const Vector3 center = b.rotation * (0.5 * (q.box.low + q.box.high)) + b.shift;
    const Vector3 half = stretched * (0.5 * (q.box.high - q.box.low));
    const Vector3 low = center - half, high = center + half;
    if (!((p.box.low.array() - reach <= high.array()).all() && (low.array() <= p.box.high.array() + reach).all())) continue;
    if (p.leaf() && q.leaf()) {
      for (std::int32_t k = p.first; k < p.first + p.count; ++k)
        for (std::int32_t l = q.first; l < q.first + q.count; ++l)
          scratch.triangles.push_back({a.tree->order()[k], b.form.tree->order()[l]});
    } else if (q.leaf() || (!p.leaf() && p.count >= q.count)) {
      scratch.stack.push_back({p.child + 1, j});
      scratch.stack.push_back({p.child, j});
    } else {
      scratch.stack.push_back({i, q.child + 1});
      scratch.stack.push_back({i, q.child});
    }
  }
}

/// The normal at the feature of a face: of the face, the sum of both at an edge, weighted by angles at a corner.
Vector3 normal_at(const Seen& f, std::int32_t face, TriangleFeature feature) {
  const auto t = static_cast<std::size_t>(face);
  const auto k = static_cast<std::size_t>(feature);
  if (feature == TriangleFeature::face) return f.normal(face);
  if (k < 3) return f.rotation * f.form.vertex_normals[f.form.triangles[t][k]];
  Vector3 sum = Vector3::Zero();
  for (const std::int32_t side : f.form.edges[f.form.triangle_edges[t][k - 3]].faces)
    if (side >= 0) sum += f.normal(side);
  return sum;
}

/// Whether the way from a corner or an edge of a face leans over the surface around it, so that something else there is nearer.
bool leans_over(const Seen& f, std::int32_t face, TriangleFeature feature, const Vector3& at, const Vector3& way) {
  constexpr double tolerance = 1e-6;
  const auto k = static_cast<std::size_t>(feature);
  const auto t = static_cast<std::size_t>(face);
  const auto towards = [&](std::int32_t v) {
    const Vector3 d = f.at(v) - at;
    return way.dot(d) > tolerance * way.norm() * d.norm();
  };
  if (feature == TriangleFeature::face) return false;
  if (k < 3) {
    const Index v = f.form.triangles[t][k];
    const auto begin = f.form.around.begin() + f.form.first_around[v], end = f.form.around.begin() + f.form.first_around[v + 1];
    return std::any_of(begin, end, towards);
  }
  const FormEdge& e = f.form.edges[f.form.triangle_edges[t][k - 3]];
  const std::int32_t other = e.faces[0] == face ? e.faces[1] : e.faces[0];
  if (other < 0) return false;
  for (const std::int32_t v : f.form.triangles[other])
    if (v != e.vertices[0] && v != e.vertices[1] && towards(v)) return true;
  return false;
}

/// A vertex against a face of the other body: in front of it, or behind it where the body is closed.
void near_face(std::int32_t vertex, const Vector3& p, const Seen& f, std::int32_t face, double reach, double deep,
               std::vector<MeshScratch::Near>& out) {
  const mesh::Triangle& t = f.form.triangles[face];
  const Vector3 a = f.at(t[0]), m = f.normal(face);
  if (std::abs(m.dot(p - a)) > std::max(reach, deep)) return;
  const auto q = collision::closest_point_on_triangle(p, a, f.at(t[1]), f.at(t[2]));
  const double distance = std::sqrt(q.squared_distance);
  const Vector3 d = p - q.position;
  const double side = normal_at(f, face, q.feature).dot(d);
  const bool behind = f.form.closed && side < 0;
  if (distance > (behind ? deep : reach) || leans_over(f, face, q.feature, q.position, d)) return;
  // Where they touch, and in the face, its normal has more digits than the way between the points.
  Vector3 n = m.dot(d) < 0 && !f.form.closed ? Vector3(-m) : m;
  if (q.feature != TriangleFeature::face && distance > 1e-9 * f.form.reach) n = (behind ? -1 : 1) / distance * d;
  out.push_back({vertex, face, q.position, n, behind ? -distance : distance, behind});
}

/// The nearest place of all triangles, for a vertex that seems to be deep inside: triangles in front of it may not have been
/// among the near ones.
MeshScratch::Near nearest_of_all(std::int32_t vertex, const Vector3& p, const Seen& f) {
  const Vector3 own = f.rotation.transpose() * (p - f.shift);
  MeshScratch::Near best{vertex, -1, own, own, std::numeric_limits<double>::infinity(), false};
  double limit = best.gap;
  TriangleFeature feature = TriangleFeature::face;
  const auto corner = [&](std::int32_t t, std::size_t k) { return f.form.vertices[f.form.triangles[t][k]]; };
  f.form.tree->traverse_nearest(
      limit, [&](const mesh::Box& box) { return mesh::squared_distance(box, own); },
      [&](const auto& leaf) {
        for (std::int32_t k = leaf.first; k < leaf.first + leaf.count; ++k) {
          const std::int32_t t = f.form.tree->order()[k];
          const auto q = collision::closest_point_on_triangle(own, corner(t, 0), corner(t, 1), corner(t, 2));
          if (q.squared_distance >= limit) continue;
          limit = q.squared_distance;
          best.other = t;
          best.point = q.position;
          feature = q.feature;
        }
      });
  const double distance = std::sqrt(limit);
  best.point = f.rotation * best.point + f.shift;
  const Vector3 d = p - best.point;
  best.behind = normal_at(f, best.other, feature).dot(d) < 0;
  best.normal = feature == TriangleFeature::face ? f.normal(best.other) : Vector3((best.behind ? -1 : 1) / distance * d);
  best.gap = best.behind ? -distance : distance;
  return best;
}

/// Of each vertex: what is nearest, and what is in front of it in other directions. `verify` looks at what seems to be deeper
/// than `reach`.
template <class Verify, class Add>
void keep_nearest(std::vector<MeshScratch::Near>& found, double reach, Verify&& verify, Add&& add) {
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    if (a.own != b.own) return a.own < b.own;
    const double da = std::abs(a.gap), db = std::abs(b.gap);
    return da != db ? da < db : a.other < b.other;
  });
  for (std::size_t i = 0; i < found.size();) {
    std::size_t end = i + 1;
    while (end < found.size() && found[end].own == found[i].own) ++end;
    if (found[i].behind && -found[i].gap > reach) {
      const MeshScratch::Near true_one = verify(found[i].own);
      if (true_one.behind) add(true_one);
      i = end;
      continue;
    }
    add(found[i]);
    for (std::size_t k = i + 1; k < end && !found[i].behind; ++k) {
      bool other = !found[k].behind;
      for (std::size_t l = i; l < k && other; ++l) other = found[k].normal.dot(found[l].normal) < 0.9;
      if (other) add(found[k]);
    }
    i = end;
  }
}

/// Whether a direction leaves an edge between its faces.
bool leaves(const RigidForm& f, const FormEdge& e, const Vector3& n) {
  constexpr double tolerance = 1e-3;
  const Vector3 along = f.vertices[e.vertices[1]] - f.vertices[e.vertices[0]];
  for (const std::int32_t face : e.faces) {
    if (face < 0) continue;
    const Vector3& m = f.faces.normals[face];
    Vector3 into = m.cross(along).normalized();
    double side = 0;
    for (const std::int32_t v : f.triangles[face]) {
      const double s = into.dot(f.vertices[v] - f.vertices[e.vertices[0]]);
      if (std::abs(s) > std::abs(side)) side = s;
    }
    if (side < 0) into = -into;
    if (n.dot(into) > tolerance) return false;
  }
  return true;
}

void edge_pair(const RigidForm& a, std::int32_t i, const Seen& b, std::int32_t j, double margin, double reach, Manifold& out) {
  const FormEdge &e = a.edges[i], &g = b.form.edges[j];
  if (!e.convex || !g.convex || e.flat || g.flat) return;
  const Vector3 &p = a.vertices[e.vertices[0]], &q = a.vertices[e.vertices[1]];
  const Vector3 r = b.at(g.vertices[0]), s = b.at(g.vertices[1]);
  const SegmentPlaces at = closest_on_segments(p, q - p, r, s - r);
  if (!(at.first > 0 && at.first < 1 && at.second > 0 && at.second < 1)) return;
  const Vector3 x = p + at.first * (q - p), y = r + at.second * (s - r);
  const double distance = (x - y).norm();
  if (distance > reach) return;
  Vector3 n = (q - p).cross(s - r);
  if (!(n.norm() > 1e-3 * (q - p).norm() * (s - r).norm())) return;
  n.normalize();
  // From the second body to the first: with the outward side of its edge.
  Vector3 outward = Vector3::Zero();
  for (const std::int32_t face : g.faces)
    if (face >= 0) outward += b.normal(face);
  const bool two_sided = !b.form.closed || !a.closed;
  if (n.dot(two_sided ? Vector3(x - y) : outward) < 0) n = -n;
  const double gap = n.dot(x - y);
  if (gap > margin) return;
  if (!(leaves(a, e, -n) && leaves(b.form, g, b.rotation.transpose() * n))) return;
  out.add(0.5 * (x + y), n, gap, key_of_elements(3, i, j));
}

}  // namespace

void mesh_contacts(const RigidForm& a, const FormPose& a_pose, const RigidForm& b, const FormPose& b_pose, double margin,
                   MeshScratch& scratch, Manifold& out) {
  const double radius = a.radius + b.radius, reach = margin + radius;
  const double deep = std::max(reach, 0.25 * std::min(a.thin, b.thin));
  const Eigen::Matrix3d to_a = a_pose.rotation.transpose();
  const Seen seen{b, to_a * b_pose.rotation, to_a * (b_pose.position - a_pose.position)};
  const Seen own{a, Eigen::Matrix3d::Identity(), Vector3::Zero()};
  near_triangles(a, seen, std::max(reach, 0.0), scratch);
  if (scratch.triangles.empty()) return;
  const auto finish = [&](std::uint64_t kind, const Seen& of, const Seen& against, bool flip) {
    keep_nearest(
        scratch.vertices, reach, [&](std::int32_t v) { return nearest_of_all(v, of.at(v), against); },
        [&](const MeshScratch::Near& n) {
          const Vector3 normal = flip ? Vector3(-n.normal) : n.normal;
          out.add(n.point + (0.5 * n.gap) * n.normal, normal, n.gap - radius, key_of_elements(kind, n.own, n.other));
        });
  };
  scratch.vertices.clear();
  for (const auto& [t, u] : scratch.triangles)
    for (std::size_t k = 0; k < 3; ++k)
      if ((a.owned[t] >> k) & 1) {
        const std::int32_t v = a.triangles[t][k];
        near_face(v, a.vertices[v], seen, u, reach, deep, scratch.vertices);
      }
  finish(1, own, seen, false);
  scratch.vertices.clear();
  for (const auto& [t, u] : scratch.triangles)
    for (std::size_t k = 0; k < 3; ++k)
      if ((b.owned[u] >> k) & 1) {
        const std::int32_t v = b.triangles[u][k];
        near_face(v, seen.at(v), own, t, reach, deep, scratch.vertices);
      }
  finish(2, seen, own, true);
  for (const auto& [t, u] : scratch.triangles)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t l = 0; l < 3; ++l)
        if ((a.owned[t] >> (3 + k)) & (b.owned[u] >> (3 + l)) & 1)
          edge_pair(a, a.triangle_edges[t][k], seen, b.triangle_edges[u][l], margin, reach, out);
  out.keep_directions();
  for (ContactPoint& c : out.points()) {
    c.point = a_pose(c.point);
    c.normal = a_pose.rotation * c.normal;
  }
}

void mesh_rounded_contacts(const RigidForm& f, const FormPose& f_pose, const RigidForm& rounded, const FormPose& rounded_pose,
                           double margin, MeshScratch& scratch, Manifold& out) {
  const Eigen::Matrix3d to_f = f_pose.rotation.transpose();
  const double reach = margin + rounded.radius, deep = std::max(reach, 0.25 * f.thin);
  mesh::Box around;
  std::array<Vector3, 2> p;
  const std::size_t ends = rounded.vertices.size();
  for (std::size_t i = 0; i < ends; ++i) {
    p[i] = to_f * (rounded_pose(rounded.vertices[i]) - f_pose.position);
    around.add(p[i]);
  }
  around.low.array() -= std::max(reach, 0.0);
  around.high.array() += std::max(reach, 0.0);
  const Seen own{f, Eigen::Matrix3d::Identity(), Vector3::Zero()};
  scratch.vertices.clear();
  f.tree->traverse([&](std::int32_t, const auto& node) { return node.box.overlaps(around); },
                   [&](const auto& leaf) {
                     for (std::int32_t k = leaf.first; k < leaf.first + leaf.count; ++k) {
                       const std::int32_t t = f.tree->order()[k];
                       const mesh::Triangle& v = f.triangles[t];
                       std::array<Vector3, 3> corner;
                       for (std::size_t c = 0; c < 3; ++c) corner[c] = f.vertices[v[c]];
                       for (std::size_t i = 0; i < ends; ++i)
                         near_face(static_cast<std::int32_t>(i), p[i], own, t, reach, deep, scratch.vertices);
                       if (ends < 2) continue;
                       // Where the axis of a capsule passes an edge.
                       for (std::size_t c = 0; c < 3; ++c) {
                         if (!((f.owned[t] >> (3 + c)) & 1)) continue;
                         const FormEdge& e = f.edges[f.triangle_edges[t][c]];
                         const Vector3 &a = corner[c], &b = corner[(c + 1) % 3];
                         const SegmentPlaces s = closest_on_segments(p[0], p[1] - p[0], a, b - a);
                         if (!(s.first > 0 && s.first < 1) || !e.convex || e.flat) continue;
                         const Vector3 x = p[0] + s.first * (p[1] - p[0]), y = a + s.second * (b - a);
                         const double d = (x - y).norm();
                         if (d <= reach && d > 0 && leaves(f, e, (x - y) / d))
                           scratch.vertices.push_back({2 + f.triangle_edges[t][c], t, y, (x - y) / d, d, false});
                       }
                     }
                   });
  const auto verify = [&](std::int32_t v) { return nearest_of_all(v, p[v], own); };
  keep_nearest(scratch.vertices, reach, verify, [&](const MeshScratch::Near& n) {
    const Vector3 on_rounded = n.point + (n.gap - rounded.radius) * n.normal;
    // From the second body to the first, which is the mesh.
    out.add(f_pose(0.5 * (n.point + on_rounded)), -(f_pose.rotation * n.normal), n.gap - rounded.radius,
            key_of_elements(4, n.own, n.other));
  });
  out.keep_directions();
}

}  // namespace meniscus::solids
