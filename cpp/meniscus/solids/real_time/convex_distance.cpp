#include "meniscus/solids/real_time/convex_distance.hpp"

#include "meniscus/solids/rigid/forms/closest_segments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

/// Faces that are looked at along a segment.
constexpr int most_faces = 6;

double height(const RigidForm& form, std::int32_t face, const Vector3& x) {
  const Index k = face;
  return form.faces.normals[k].dot(x) - form.faces.offsets[k];
}

bool rounded(const RigidForm& form) { return form.faces.size() == 0; }

/// The nearest point of the core of a rounded form.
Vector3 on_core(const RigidForm& form, const Vector3& x) {
  if (form.vertices.size() == 1) return form.vertices[0];
  const Vector3 d = form.vertices[1] - form.vertices[0];
  return form.vertices[0] + std::clamp((x - form.vertices[0]).dot(d) / d.squaredNorm(), 0.0, 1.0) * d;
}

/// The closest point of a face to x above it.
Vector3 on_face(const RigidForm& form, std::int32_t face, double above, const Vector3& x) {
  const Vector3& n = form.faces.normals[face];
  const Vector3 foot = x - above * n;
  const auto loop = form.faces.of(face);
  Vector3 best = foot;
  double least = std::numeric_limits<double>::infinity();
  bool outside = false;
  for (std::size_t k = 0; k < loop.size(); ++k) {
    const Vector3& a = form.vertices[loop[k]];
    const Vector3 e = form.vertices[loop[(k + 1) % loop.size()]] - a;
    if (n.cross(e).dot(foot - a) >= 0) continue;
    outside = true;
    const Vector3 at = a + std::clamp((foot - a).dot(e) / e.squaredNorm(), 0.0, 1.0) * e;
    if (const double d = (foot - at).squaredNorm(); d < least) least = d, best = at;
  }
  return outside ? best : foot;
}

FormPlane plane_of(const RigidForm& form, std::int32_t face, const Vector3& x) {
  const Vector3& n = form.faces.normals[face];
  const double d = height(form, face, x);
  return {n, x - d * n, d};
}

/// The face through which the way from `before`, which is outside, goes in; -1 if it does not meet the form.
std::int32_t entry(const RigidForm& form, const Vector3& before, const Vector3& x) {
  double in = 0, out = 1;
  std::int32_t face = -1;
  for (std::size_t k = 0; k < form.faces.size(); ++k) {
    const double a = height(form, static_cast<std::int32_t>(k), before), b = height(form, static_cast<std::int32_t>(k), x);
    if (a >= 0 && b >= 0) return -1;
    if (a >= 0) {
      const double t = a / (a - b);
      if (face < 0 || t > in) in = t, face = static_cast<std::int32_t>(k);
    } else if (b > 0) {
      out = std::min(out, a / (a - b));
    }
  }
  return in <= out ? face : -1;
}

bool rounded_plane(const RigidForm& form, const Vector3& before, const Vector3& x, double reach, FormPlane& out) {
  const Vector3 core = on_core(form, x), old = on_core(form, before);
  Vector3 d = x - core;
  const Vector3 from = before - old, way = x - before;
  const double length = d.norm();
  // Who may have come through, or is beyond the core, stays on the side from where it came.
  const bool far = way.squaredNorm() > 0.25 * form.radius * form.radius && from.squaredNorm() >= form.radius * form.radius;
  if (far) {
    const double along = std::clamp(-from.dot(way) / way.squaredNorm(), 0.0, 1.0);
    const Vector3 middle = before + along * way;
    const Vector3 under = on_core(form, middle);
    if ((middle - under).norm() < form.radius + reach) {
      const Vector3 n = from.normalized();
      out = {n, old + form.radius * n, n.dot(x - old) - form.radius};
      return out.distance < reach;
    }
  }
  if (length - form.radius >= reach) return false;
  if (!(length > 0)) {
    d = from.squaredNorm() > 0 ? from : Vector3(Vector3::UnitZ());
    d.normalize();
  } else {
    d /= length;
  }
  out = {d, core + form.radius * d, length - form.radius};
  return true;
}

/// A place where two faces are equally high, with the normal in the middle between theirs.
bool between(const RigidForm& form, std::int32_t a, std::int32_t b, const Vector3& from, const Vector3& e, double reach,
             SegmentContact& out) {
  const Vector3 &p = form.faces.normals[a], &q = form.faces.normals[b];
  const double falls = p.dot(e), rises = q.dot(e);
  if (!(falls < 0 && rises > 0)) return false;
  const double t = (height(form, a, from) - height(form, b, from)) / (rises - falls);
  if (!(t > 0 && t < 1)) return false;
  const Vector3 x = from + t * e;
  const double high = height(form, a, x);
  // That at right angles to the segment turns with the least noise where the segment is along the edge of the form.
  const Vector3 n = 0.5 * (p + q);
  const double length = n.norm();
  if (!(length > 1e-6) || high >= reach * length) return false;
  const double d = high / length;
  out = {t, {n / length, x - (d / length) * n, d}};
  return true;
}

}  // namespace

FaceDistance face_distance(const RigidForm& form, const Vector3& x) {
  if (rounded(form)) return {(x - on_core(form, x)).norm() - form.radius, 0};
  FaceDistance r{-std::numeric_limits<double>::infinity(), 0};
  for (std::size_t k = 0; k < form.faces.size(); ++k)
    if (const double d = form.faces.normals[k].dot(x) - form.faces.offsets[k]; d > r.distance)
      r = {d, static_cast<std::int32_t>(k)};
  return r;
}

bool plane_at(const RigidForm& form, const Vector3& before, const Vector3& x, double reach, FormPlane& out) {
  if (rounded(form)) return rounded_plane(form, before, x, reach, out);
  const FaceDistance now = face_distance(form, x), then = face_distance(form, before);
  if (then.distance >= 0 && (now.distance < 0 || (x - before).squaredNorm() > form.thin * form.thin)) {
    const std::int32_t face = entry(form, before, x);
    if (face >= 0) {
      out = plane_of(form, face, x);
      return true;
    }
  }
  if (now.distance >= reach) return false;
  if (now.distance <= 0) {
    out = plane_of(form, then.distance < 0 ? then.face : now.face, x);
    return true;
  }
  double least = std::numeric_limits<double>::infinity();
  Vector3 best = x;
  for (std::size_t k = 0; k < form.faces.size(); ++k) {
    const auto face = static_cast<std::int32_t>(k);
    const double d = height(form, face, x);
    if (d <= 0) continue;
    const Vector3 at = on_face(form, face, d, x);
    if (const double s = (x - at).squaredNorm(); s < least) least = s, best = at;
  }
  const double distance = std::sqrt(least);
  if (distance >= reach) return false;
  out = {(x - best) / distance, best, distance};
  return true;
}

bool segment_contact(const RigidForm& form, const Vector3& from, const Vector3& to, double reach, SegmentContact& out) {
  const Vector3 e = to - from;
  if (rounded(form)) {
    const bool ball = form.vertices.size() == 1;
    const Vector3 core = ball ? Vector3(Vector3::Zero()) : Vector3(form.vertices[1] - form.vertices[0]);
    const SegmentPlaces s = closest_on_segments(from, e, form.vertices[0], core);
    if (!(s.first > 0 && s.first < 1)) return false;
    const Vector3 under = form.vertices[0] + s.second * core, d = from + s.first * e - under;
    const double length = d.norm();
    if (!(length > 0) || length - form.radius >= reach) return false;
    out = {s.first, {d / length, under + (form.radius / length) * d, length - form.radius}};
    return true;
  }
  std::int32_t low = face_distance(form, from).face, high = face_distance(form, to).face;
  if (low == high) return false;
  for (int k = 0; k < most_faces; ++k) {
    const Vector3 &p = form.faces.normals[low], &q = form.faces.normals[high];
    const double falls = p.dot(e), rises = q.dot(e);
    // The least height is at an end, whose node knows it.
    if (!(falls < 0 && rises > 0)) return false;
    const double t = std::clamp((height(form, low, from) - height(form, high, from)) / (rises - falls), 0.0, 1.0);
    const FaceDistance at = face_distance(form, from + t * e);
    if (at.distance >= reach) return false;
    if (at.face == low || at.face == high || k + 1 == most_faces) break;
    const double slope = form.faces.normals[at.face].dot(e);
    (slope < 0 ? low : high) = at.face;
  }
  return between(form, low, high, from, e, reach, out);
}

bool corner_contact(const RigidForm& form, const std::array<Vector3, 3>& c, double reach, CornerContact& out) {
  const Vector3 p = c[1] - c[0], q = c[2] - c[0];
  Vector3 n = p.cross(q);
  const double area = n.norm();
  if (!(area > 0)) return false;
  n /= area;
  double offset = n.dot(c[0]);
  if (offset < 0) n = -n, offset = -offset;
  double best = form.radius + reach;
  bool found = false;
  const double pp = p.squaredNorm(), pq = p.dot(q), qq = q.squaredNorm(), determinant = pp * qq - pq * pq;
  for (const Vector3& v : form.vertices) {
    const double d = offset - n.dot(v);
    if (d >= best) continue;
    const Vector3 r = v - c[0];
    const double rp = r.dot(p), rq = r.dot(q);
    const double b = (qq * rp - pq * rq) / determinant, g = (pp * rq - pq * rp) / determinant;
    if (!(b >= 0 && g >= 0 && b + g <= 1)) continue;
    best = d;
    found = true;
    out = {{1 - b - g, b, g}, {n, v + form.radius * n, d - form.radius}};
  }
  return found;
}

}  // namespace meniscus::solids
