#include "meniscus/solids/rigid/forms/convex_pair.hpp"

#include "meniscus/solids/rigid/forms/closest_segments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::solids {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Relative to the size of the bodies: axes are exchanged for better ones only by that much, so that they last.
constexpr double better = 1e-3;

const Vector3& vertex(const MovedForm& f, std::int32_t v) { return f.vertices[v]; }

std::uint64_t key_of(std::uint64_t kind, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return kind << 60 | a << 40 | b << 20 | c;
}

/// A contact with rounding radii around the cores: p and q are on the cores, n points from the second to the first.
void add_rounded(const Vector3& p, const Vector3& q, const Vector3& n, double rp, double rq, std::uint64_t key, Manifold& out) {
  const Vector3 on_p = p - rp * n, on_q = q + rq * n;
  out.add(0.5 * (on_p + on_q), n, n.dot(on_p - on_q), key);
}

/// A direction from q to p; where they coincide, `otherwise`.
Vector3 direction(const Vector3& p, const Vector3& q, const Vector3& otherwise) {
  const Vector3 d = p - q;
  const double length = d.norm();
  return length > 0 ? Vector3(d / length) : otherwise;
}

/// The closest point of a face to a point.
Vector3 closest_on_face(const MovedForm& f, std::size_t face, const Vector3& p) {
  const auto loop = f.form->faces.of(face);
  const Vector3& n = f.normals[face];
  Vector3 best = p - (n.dot(p) - f.offsets[face]) * n;
  double nearest = infinity;
  bool inside = true;
  Vector3 found = best;
  for (std::size_t k = 0; k < loop.size(); ++k) {
    const Vector3 &a = vertex(f, loop[k]), &b = vertex(f, loop[(k + 1) % loop.size()]);
    const Vector3 e = b - a;
    if (!(n.cross(e).dot(p - a) < 0)) continue;
    inside = false;
    const Vector3 q = a + std::clamp(e.dot(p - a) / e.squaredNorm(), 0.0, 1.0) * e;
    const double d = (p - q).squaredNorm();
    if (d < nearest) nearest = d, found = q;
  }
  return inside ? best : found;
}

struct Touch {
  Vector3 p, q, n;  ///< points on the first and on the second core, from the second to the first
  double gap;
  std::size_t feature;
};

/// Of a point and a polyhedron.
Touch touch_point(const Vector3& p, const MovedForm& f) {
  Touch best{p, p, Vector3::UnitZ(), -infinity, 0};
  for (std::size_t face = 0; face < f.normals.size(); ++face) {
    const double s = f.normals[face].dot(p) - f.offsets[face];
    if (s > best.gap) best = {p, p - s * f.normals[face], f.normals[face], s, face};
  }
  if (best.gap <= 0) return best;
  double nearest = infinity;
  Touch out = best;
  for (std::size_t face = 0; face < f.normals.size(); ++face) {
    if (!(f.normals[face].dot(p) > f.offsets[face])) continue;
    const Vector3 q = closest_on_face(f, face, p);
    const double d = (p - q).norm();
    if (d < nearest) nearest = d, out = {p, q, direction(p, q, f.normals[face]), d, face};
  }
  return out;
}

/// Whether a direction is between the normals of the faces at an edge: not into either of them.
bool in_cone(const MovedForm& f, const FormEdge& e, const Vector3& n, double tolerance) {
  const Vector3 along = vertex(f, e.vertices[1]) - vertex(f, e.vertices[0]);
  for (const std::int32_t face : e.faces) {
    if (face < 0) continue;
    const Vector3& m = f.normals[face];
    // Into the face, from the edge: on the side of its other corners.
    Vector3 into = m.cross(along);
    double side = 0;
    for (const std::int32_t v : f.form->faces.of(face)) {
      const double s = into.dot(vertex(f, v) - vertex(f, e.vertices[0]));
      if (std::abs(s) > std::abs(side)) side = s;
    }
    if (side < 0) into = -into;
    if (n.dot(into) > tolerance * into.norm()) return false;
  }
  return true;
}

/// Of a segment and a polyhedron.
Touch touch_segment(const Vector3& a, const Vector3& b, const MovedForm& f) {
  const Vector3 d = b - a;
  double enter = 0, leave = 1;
  Touch face{a, a, Vector3::UnitZ(), -infinity, 0};
  for (std::size_t i = 0; i < f.normals.size(); ++i) {
    const double sa = f.normals[i].dot(a) - f.offsets[i], sb = f.normals[i].dot(b) - f.offsets[i], s = std::min(sa, sb);
    const Vector3& deepest = sa < sb ? a : b;
    if (s > face.gap) face = {deepest, deepest - s * f.normals[i], f.normals[i], s, i};
    if (sa > 0 && sb > 0) enter = 2;
    if (sa > 0 && sb <= 0) enter = std::max(enter, sa / (sa - sb));
    if (sa <= 0 && sb > 0) leave = std::min(leave, sa / (sa - sb));
  }
  const bool inside = enter < leave;
  Touch best = face;
  if (!inside) {
    const Touch ends[2] = {touch_point(a, f), touch_point(b, f)};
    best = ends[ends[1].gap < ends[0].gap];
    best.feature = static_cast<std::size_t>(ends[1].gap < ends[0].gap);
  }
  for (std::size_t i = 0; i < f.form->edges.size(); ++i) {
    const FormEdge& e = f.form->edges[i];
    const Vector3 &p = vertex(f, e.vertices[0]), &r = vertex(f, e.vertices[1]);
    const SegmentPlaces s = closest_on_segments(a, d, p, r - p);
    const Vector3 x = a + s.first * d, y = p + s.second * (r - p);
    if (!inside) {
      const double gap = (x - y).norm();
      if (gap < best.gap) best = {x, y, direction(x, y, best.n), gap, 2 + i};
      continue;
    }
    Vector3 n = d.cross(r - p);
    if (!(n.norm() > 1e-9 * d.norm() * (r - p).norm())) continue;
    n.normalize();
    if (n.dot(p) < 0) n = -n;
    if (!in_cone(f, e, n, 1e-9)) continue;
    const double gap = n.dot(a - p);
    if (gap > best.gap && s.first > 0 && s.first < 1) best = {x, y, n, gap, 2 + i};
  }
  return best;
}

void segment_contacts(const RigidForm& rod, const Vector3& a, const Vector3& b, const MovedForm& f, double margin,
                      Manifold& out) {
  const Touch t = touch_segment(a, b, f);
  if (t.gap - rod.radius > margin) return;
  // Flat on a face: the ends of what is above it.
  const Vector3 d = b - a;
  std::size_t face = 0;
  for (std::size_t i = 1; i < f.normals.size(); ++i)
    if (f.normals[i].dot(t.n) > f.normals[face].dot(t.n)) face = i;
  const Vector3& n = f.normals[face];
  if (n.dot(t.n) > 0.999 && std::abs(n.dot(d)) < 0.2 * d.norm()) {
    double enter = 0, leave = 1;
    const auto loop = f.form->faces.of(face);
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const Vector3 &p = vertex(f, loop[k]), &q = vertex(f, loop[(k + 1) % loop.size()]);
      const Vector3 inward = n.cross(q - p);
      const double sa = inward.dot(a - p), sb = inward.dot(b - p);
      if (sa < 0 && sb < 0) enter = 2;
      if (sa < 0 && sb >= 0) enter = std::max(enter, sa / (sa - sb));
      if (sa >= 0 && sb < 0) leave = std::min(leave, sa / (sa - sb));
    }
    if (enter < leave) {
      for (const double s : {enter, leave}) {
        const Vector3 p = a + s * d;
        const double gap = n.dot(p) - f.offsets[face];
        if (gap - rod.radius <= margin) add_rounded(p, p - gap * n, n, rod.radius, 0, key_of(3, face, s == enter ? 0 : 1), out);
      }
      return;
    }
  }
  add_rounded(t.p, t.q, t.n, rod.radius, 0, key_of(4, t.feature, 0), out);
}

void rounded_contacts(const RigidForm& a, const RigidForm& b, const MovedForm& other, double margin, Manifold& out) {
  const auto& p = a.vertices;
  const auto& q = other.vertices;
  const auto add = [&](const Vector3& x, const Vector3& y, std::uint64_t key) {
    const Vector3 n = direction(x, y, Vector3::UnitZ());
    if ((x - y).norm() - a.radius - b.radius <= margin) add_rounded(x, y, n, a.radius, b.radius, key, out);
  };
  const Vector3 d = p.back() - p[0], e = q.back() - q[0];
  if (p.size() == 2 && q.size() == 2 && d.cross(e).norm() < 0.02 * d.norm() * e.norm()) {
    // Side by side: the ends of the part that they have in common.
    double low = d.dot(q[0] - p[0]) / d.squaredNorm(), high = d.dot(q[1] - p[0]) / d.squaredNorm();
    if (low > high) std::swap(low, high);
    low = std::max(low, 0.0);
    high = std::min(high, 1.0);
    if (high - low > 1e-3) {
      for (const double s : {low, high}) {
        const Vector3 x = p[0] + s * d;
        add(x, q[0] + std::clamp(e.dot(x - q[0]) / e.squaredNorm(), 0.0, 1.0) * e, key_of(5, s == low ? 1 : 2, 0));
      }
      return;
    }
  }
  const SegmentPlaces s = closest_on_segments(p[0], d, q[0], e);
  add(p[0] + s.first * d, q[0] + s.second * e, key_of(5, 0, 0));
}

/// The face of `f` that `other` is farthest above.
std::pair<std::size_t, double> best_face(const MovedForm& f, const MovedForm& other) {
  std::size_t best = 0;
  double most = -infinity;
  for (std::size_t i = 0; i < f.normals.size(); ++i) {
    double least = infinity;
    const Vector3& n = f.normals[i];
    const double enough = most + f.offsets[i];
    for (const Vector3& v : other.vertices) {
      least = std::min(least, n.dot(v));
      if (least < enough) break;
    }
    least -= f.offsets[i];
    if (least > most) most = least, best = i;
  }
  return {best, most};
}

/// Two edges whose arcs of normals, a to b and those of `other`, cross on the sphere: they span a face of the difference of the
/// bodies.
bool arcs_cross(const Vector3& a, const Vector3& b, const Vector3& ba, const EdgeArc& other) {
  const double cba = other.from.dot(ba), dba = other.to.dot(ba);
  if (!(cba * dba < 0)) return false;
  const double adc = a.dot(other.across), bdc = b.dot(other.across);
  return adc * bdc < 0 && cba * bdc > 0;
}

void polyhedron_contacts(const MovedForm& a, const MovedForm& b, double margin, std::vector<EdgeArc>& arcs, Manifold& out) {
  const auto [face_a, gap_a] = best_face(a, b);
  if (gap_a > margin) return;
  const auto [face_b, gap_b] = best_face(b, a);
  if (gap_b > margin) return;
  double most = -infinity;
  std::array<std::size_t, 2> edges{};
  Vector3 axis = Vector3::Zero();
  arcs.clear();
  for (const FormEdge& g : b.form->edges) {
    const Vector3 from = -b.normals[g.faces[0]], to = -b.normals[g.faces[1]];
    const Vector3& r = vertex(b, g.vertices[0]);
    arcs.push_back({from, to, to.cross(from), r, vertex(b, g.vertices[1]) - r});
  }
  for (std::size_t i = 0; i < a.form->edges.size(); ++i) {
    const FormEdge& e = a.form->edges[i];
    const Vector3 &p = vertex(a, e.vertices[0]), &q = vertex(a, e.vertices[1]);
    const Vector3 &na = a.normals[e.faces[0]], &nb = a.normals[e.faces[1]];
    const Vector3 d = q - p, ba = nb.cross(na);
    const double shortest = 1e-6 * d.norm();
    for (std::size_t j = 0; j < arcs.size(); ++j) {
      const EdgeArc& g = arcs[j];
      if (!arcs_cross(na, nb, ba, g)) continue;
      Vector3 n = d.cross(g.direction);
      const double length = n.norm();
      if (!(length > shortest * g.direction.norm())) continue;
      n /= length;
      if (n.dot(p) < 0) n = -n;
      const double gap = n.dot(g.start - p);
      if (gap > most) most = gap, edges = {i, j}, axis = n;
    }
  }
  const double tolerance = better * std::min(a.form->reach, b.form->reach);
  const bool face_of_b = gap_b > gap_a + tolerance;
  const double face_gap = face_of_b ? gap_b : gap_a;
  if (most > margin) return;
  if (most > face_gap + tolerance) {
    const FormEdge &e = a.form->edges[edges[0]], &g = b.form->edges[edges[1]];
    const Vector3 &p = vertex(a, e.vertices[0]), &r = vertex(b, g.vertices[0]);
    const Vector3 d = vertex(a, e.vertices[1]) - p, f = vertex(b, g.vertices[1]) - r;
    const SegmentPlaces s = closest_on_segments(p, d, r, f);
    // The axis points from the first body to the second.
    out.add(0.5 * (p + s.first * d + r + s.second * f), -axis, most, key_of(2, edges[0], edges[1]));
    return;
  }
  if (face_of_b)
    clip_face(b, face_b, a, margin, true, out);
  else
    clip_face(a, face_a, b, margin, false, out);
}

}  // namespace

void MovedForm::move(const RigidForm& of, const Eigen::Matrix3d& rotation, const Vector3& shift) {
  form = &of;
  vertices.clear();
  normals.clear();
  offsets.clear();
  for (const Vector3& v : of.vertices) vertices.emplace_back(rotation * v + shift);
  for (std::size_t i = 0; i < of.faces.size(); ++i) {
    normals.emplace_back(rotation * of.faces.normals[i]);
    offsets.push_back(of.faces.offsets[i] + normals.back().dot(shift));
  }
}

void MovedForm::stay(const RigidForm& of) {
  form = &of;
  vertices.assign(of.vertices.begin(), of.vertices.end());
  normals.assign(of.faces.normals.begin(), of.faces.normals.end());
  offsets.assign(of.faces.offsets.begin(), of.faces.offsets.end());
}

void clip_face(const MovedForm& reference, std::size_t face, const MovedForm& incident, double margin, bool flip, Manifold& out) {
  const Vector3& n = reference.normals[face];
  std::size_t against = 0;
  for (std::size_t i = 1; i < incident.normals.size(); ++i)
    if (incident.normals[i].dot(n) < incident.normals[against].dot(n)) against = i;
  struct Corner {
    Vector3 x;
    std::uint64_t key;
  };
  std::array<Corner, 2 * RigidForm::most_corners> polygons[2];
  std::size_t count = 0;
  for (const std::int32_t v : incident.form->faces.of(against))
    polygons[0][count++] = {vertex(incident, v), static_cast<std::uint64_t>(v)};
  const auto loop = reference.form->faces.of(face);
  int now = 0;
  for (std::size_t k = 0; k < loop.size() && count > 0; ++k) {
    const Vector3 &p = vertex(reference, loop[k]), &q = vertex(reference, loop[(k + 1) % loop.size()]);
    const Vector3 inward = n.cross(q - p);
    auto &from = polygons[now], &to = polygons[1 - now];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Corner &a = from[i], &b = from[(i + 1) % count];
      const double sa = inward.dot(a.x - p), sb = inward.dot(b.x - p);
      if (sa >= 0) to[kept++] = a;
      if ((sa < 0) != (sb < 0) && sa != 0 && sb != 0) {
        // A corner of the cut: the side of the reference and which of the two ends was inside.
        const std::uint64_t end = (sa >= 0 ? a.key : b.key) & 0xfffff;
        to[kept++] = {a.x + sa / (sa - sb) * (b.x - a.x), end | (k + 1) << 20 | (sa >= 0 ? 1ULL : 0ULL) << 39};
      }
    }
    count = kept;
    now = 1 - now;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double gap = n.dot(polygons[now][i].x) - reference.offsets[face];
    if (gap > margin) continue;
    // n points from the reference to the other: to the first body where they are exchanged.
    out.add(polygons[now][i].x - 0.5 * gap * n, flip ? n : Vector3(-n), gap,
            key_of(flip ? 1 : 0, face, 0) ^ polygons[now][i].key);
  }
  if (out.points().empty()) {
    // The face against the reference lies beside it: the deepest corner stands for all.
    std::size_t deepest = 0;
    for (std::size_t i = 1; i < incident.vertices.size(); ++i)
      if (n.dot(incident.vertices[i]) < n.dot(incident.vertices[deepest])) deepest = i;
    const double gap = n.dot(incident.vertices[deepest]) - reference.offsets[face];
    if (gap <= 0)
      out.add(incident.vertices[deepest] - 0.5 * gap * n, flip ? n : Vector3(-n), gap, key_of(flip ? 9 : 8, face, deepest));
  }
  out.keep_four();
}

void convex_contacts(const RigidForm& first, const FormPose& first_pose, const RigidForm& second, const FormPose& second_pose,
                     double margin, ConvexScratch& scratch, Manifold& out) {
  const std::size_t before = out.points().size();
  const Eigen::Matrix3d to_first = first_pose.rotation.transpose();
  // In the axes of a polyhedron where there is one, so that its corners need not move.
  const bool first_faces = first.faces.size() > 0, second_faces = second.faces.size() > 0;
  const auto finish = [&](const FormPose& pose, bool flip) {
    for (ContactPoint& c : out.points().subspan(before)) {
      c.point = pose(c.point);
      c.normal = pose.rotation * c.normal;
      if (flip) c.normal = -c.normal;
    }
  };
  if (first_faces && !second_faces) {
    scratch.first.stay(first);
    const auto moved = [&](const Vector3& x) { return Vector3(to_first * (second_pose(x) - first_pose.position)); };
    if (second.vertices.size() == 1) {
      const Touch t = touch_point(moved(second.vertices[0]), scratch.first);
      if (t.gap - second.radius <= margin) add_rounded(t.p, t.q, t.n, second.radius, 0, key_of(6, 0, 0), out);
    } else {
      segment_contacts(second, moved(second.vertices[0]), moved(second.vertices[1]), scratch.first, margin, out);
    }
    finish(first_pose, true);
    return;
  }
  if (second_faces && !first_faces) {
    convex_contacts(second, second_pose, first, first_pose, margin, scratch, out);
    for (ContactPoint& c : out.points().subspan(before)) c.normal = -c.normal;
    return;
  }
  scratch.second.move(second, to_first * second_pose.rotation, to_first * (second_pose.position - first_pose.position));
  if (first_faces) {
    scratch.first.stay(first);
    polyhedron_contacts(scratch.first, scratch.second, margin, scratch.arcs, out);
  } else {
    rounded_contacts(first, second, scratch.second, margin, out);
  }
  finish(first_pose, false);
}

void half_space_contacts(const RigidForm& first, const FormPose& first_pose, const RigidForm& second, const FormPose& second_pose,
                         double margin, Manifold& out) {
  const Vector3 n = second_pose.rotation * second.faces.normals[0];
  const Vector3 on = second_pose(second.vertices[0]);
  const Vector3 own = first_pose.rotation.transpose() * n;
  const double offset = n.dot(first_pose.position - on) - first.radius;
  for (std::size_t i = 0; i < first.vertices.size(); ++i) {
    const double gap = own.dot(first.vertices[i]) + offset;
    if (gap > margin) continue;
    out.add(first_pose(first.vertices[i]) - (first.radius + 0.5 * gap) * n, n, gap, key_of(7, i, 0));
  }
  out.keep_four();
}

}  // namespace meniscus::solids
