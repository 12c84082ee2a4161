/// Contacts of bodies of which at least one is a triangle mesh, not necessarily convex: vertices against faces and edges against
/// edges within a distance of each other, each with the side that it is on.
///
/// Sources: Guendelman, Bridson and Fedkiw 2003, section 4 (elements of meshes against each other); Ericson, "Real-time collision
/// detection", 2005, section 5.1.5.
#pragma once

#include "meniscus/solids/rigid/contact/manifold.hpp"
#include "meniscus/solids/rigid/forms/rigid_form.hpp"

namespace meniscus::solids {

/// Keeps its memory.
struct MeshScratch {
  /// A vertex or edge near a face or edge, before the nearer ones of it are known.
  struct Near {
    std::int32_t own, other;
    Vector3 point, normal;
    double gap;
    bool behind;
  };
  std::vector<std::array<std::int32_t, 2>> stack, triangles;
  std::vector<Near> vertices;
};

/// Adds the points where gaps are below `margin` (m), at most four of each direction. Both forms are meshes; those of rounded
/// points and polyhedra have one as well (`RigidForm::surface`), with the radius given.
void mesh_contacts(const RigidForm& first, const FormPose& first_pose, const RigidForm& second, const FormPose& second_pose,
                   double margin, MeshScratch& scratch, Manifold& out);

/// The distance between two meshes, m, or something larger than `limit` where it is larger. Zero or a small number where they
/// intersect.
double mesh_distance(const RigidForm& first, const FormPose& first_pose, const RigidForm& second, const FormPose& second_pose,
                     double limit, MeshScratch& scratch);

/// Of a mesh with one or two rounded points.
void mesh_rounded_contacts(const RigidForm& mesh, const FormPose& mesh_pose, const RigidForm& rounded,
                           const FormPose& rounded_pose, double margin, MeshScratch& scratch, Manifold& out);

}  // namespace meniscus::solids
