/// Signed distances of points, segments and triangles from convex forms, in the axes of the form.
///
/// A polyhedron is the intersection of half-spaces, so that the greatest of its plane distances is a convex function f: its sign
/// says inside or outside, inside it is the distance to the nearest face, and outside at most the distance. Along a segment its
/// least value is where two faces of opposite slope are equal: there the segment crosses an edge of the form, and is held along
/// the middle of the normals of both.
///
/// Source: Ericson, "Real-time collision detection", 2005, sections 5.1 and 5.3.8 (segments against half-spaces).
#pragma once

#include "meniscus/solids/rigid/forms/rigid_form.hpp"

namespace meniscus::solids {

/// The plane that a point stays above: normal (away from the form) . (x - point) is the distance, m.
struct FormPlane {
  Vector3 normal, point;
  double distance = 0;
};

/// The greatest of the distances from the planes of the faces of a polyhedron, m, and its face; of a rounded form the distance.
struct FaceDistance {
  double distance;
  std::int32_t face;
};
FaceDistance face_distance(const RigidForm& form, const Vector3& x);

/// The plane at the closest point of a form to x, exact outside and inside. Of a point that was at `before`, outside, and has
/// gone in or through: the plane where it went in. Of one that was inside: the face that was nearest then. Returns whether the
/// distance is below `reach`.
bool plane_at(const RigidForm& form, const Vector3& before, const Vector3& x, double reach, FormPlane& out);

/// A place on a segment, from 0 to 1, and the plane at an edge of a form.
struct SegmentContact {
  double place;
  FormPlane plane;
};
/// The place on a segment that is deepest in a form, if it is nearer than `reach`, over an edge of the form, and not an end.
bool segment_contact(const RigidForm& form, const Vector3& from, const Vector3& to, double reach, SegmentContact& out);

/// A vertex of a form below a triangle, which is outside of the form's centre.
struct CornerContact {
  std::array<double, 3> weights;  ///< of the corners of the triangle, at the place above the vertex
  FormPlane plane;
};
/// The vertex of a form that is least below or most above a triangle, as seen from the origin, if it is nearer than `reach` and
/// its place is in the triangle.
bool corner_contact(const RigidForm& form, const std::array<Vector3, 3>& corners, double reach, CornerContact& out);

}  // namespace meniscus::solids
