/// Contacts of two convex forms: separating axes of polyhedra and clipping of faces, closest points of rounded points and
/// segments; of anything with a half-space.
///
/// Sources: Ericson, "Real-time collision detection", 2005, sections 5.2 and 8.1 (separating axes); Gregorius, "The separating
/// axis test between convex polyhedra", 2013 (edges that meet on the sphere of normals).
#pragma once

#include "meniscus/solids/rigid/contact/manifold.hpp"
#include "meniscus/solids/rigid/forms/rigid_form.hpp"

namespace meniscus::solids {

/// A polyhedron, or its vertices, in the axes of another body; keeps its memory.
struct MovedForm {
  const RigidForm* form = nullptr;
  std::vector<Vector3> vertices, normals;
  std::vector<double> offsets;

  void move(const RigidForm& of, const Eigen::Matrix3d& rotation, const Vector3& shift);
  void stay(const RigidForm& of);
};

/// An edge of a moved polyhedron as others meet it.
struct EdgeArc {
  Vector3 from, to;          ///< normals of the faces on both sides, turned round
  Vector3 across;            ///< to x from
  Vector3 start, direction;  ///< of the edge
};

struct ConvexScratch {
  MovedForm first, second;
  std::vector<EdgeArc> arcs;
};

/// Adds the points where gaps are below `margin` (m); at most four.
void convex_contacts(const RigidForm& first, const FormPose& first_pose, const RigidForm& second, const FormPose& second_pose,
                     double margin, ConvexScratch& scratch, Manifold& out);

/// The same with a half-space as the second form, for every form with vertices.
void half_space_contacts(const RigidForm& first, const FormPose& first_pose, const RigidForm& second, const FormPose& second_pose,
                         double margin, Manifold& out);

/// Clips a polygon of the second body to the sides of a face of the first, and adds the points below it. `flip`: the bodies are
/// exchanged.
void clip_face(const MovedForm& reference, std::size_t face, const MovedForm& incident, double margin, bool flip, Manifold& out);

}  // namespace meniscus::solids
