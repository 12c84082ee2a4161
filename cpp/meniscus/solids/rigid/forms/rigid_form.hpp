/// Forms of rigid bodies in their own axes, for contact: points, segments and convex polyhedra with a rounding radius (spheres,
/// capsules, boxes, hulls), half-spaces, and triangle meshes.
#pragma once

#include "meniscus/mesh/search/bounding_volume_tree.hpp"
#include "meniscus/solids/rigid/contact/body_motion.hpp"

#include <optional>

namespace meniscus::solids {

enum class FormKind : std::int8_t {
  convex,      ///< all points within `radius` of the hull of the vertices
  half_space,  ///< below the plane through the one vertex, with the one normal
  mesh,        ///< a surface of triangles
  none,        ///< touches nothing
};

/// An edge of a polyhedron or mesh with the faces at its sides; -1 where there is none.
struct FormEdge {
  std::array<std::int32_t, 2> vertices{};
  std::array<std::int32_t, 2> faces{-1, -1};
  /// A mesh's: whether the surface bends away from both faces there, or is flat.
  bool convex = true;
  bool flat = false;  ///< whether its faces are in one plane, so that the edge is none
};

/// Loops of vertices, counter-clockwise as seen from outside.
struct FormFaces {
  std::vector<std::int32_t> first{0};
  std::vector<std::int32_t> corners;
  std::vector<Vector3> normals;
  std::vector<double> offsets;  ///< normal . x of the points of the face, m

  std::size_t size() const { return normals.size(); }
  std::span<const std::int32_t> of(std::size_t face) const {
    const auto b = static_cast<std::size_t>(first[face]), e = static_cast<std::size_t>(first[face + 1]);
    return {corners.data() + b, e - b};
  }
};

/// Lengths in m, points relative to the centre of mass.
class RigidForm {
 public:
  /// Corners of a face of a convex body, at most.
  static constexpr std::size_t most_corners = 64;

  RigidForm() = default;
  /// One point (a sphere) or two (a capsule).
  static RigidForm rounded(std::span<const Vector3> points, double radius);
  /// The polyhedron of a closed convex surface; triangles in one plane become one face. Throws where the surface is not convex.
  static RigidForm polyhedron(std::span<const Vector3> vertices, std::span<const mesh::Triangle> triangles);
  static RigidForm half_space(const Vector3& point, const Vector3& normal);
  static RigidForm surface(std::span<const Vector3> vertices, std::span<const mesh::Triangle> triangles, bool closed);

  FormKind kind = FormKind::none;
  double radius = 0;
  /// A mesh's: whether it has an inside.
  bool closed = true;
  std::vector<Vector3> vertices;
  std::vector<FormEdge> edges;
  FormFaces faces;  ///< of a mesh: its triangles
  /// Of the points from the centre of mass.
  double reach = 0;
  /// From the centre to the nearest face of a polyhedron, or half the smallest side of the box around a mesh.
  double thin = 0;
  /// Triangles of a mesh; which vertices (bits 0 to 2) and edges (bits 3 to 5, from corner 0 to 1, 1 to 2, 2 to 0) each one
  /// stands for, so that each is met once.
  std::vector<mesh::Triangle> triangles;
  std::vector<std::uint8_t> owned;
  std::vector<std::array<std::int32_t, 3>> triangle_edges;
  /// Of a mesh: sums of the normals around each vertex, weighted by angles.
  std::vector<Vector3> vertex_normals;
  /// Of a mesh: the vertices at the other ends of the edges of vertex v are those from `first_around[v]` on.
  std::vector<std::int32_t> first_around, around;
  std::optional<mesh::BoundingVolumeTree> tree;

  /// All points within a radius of one.
  bool ball() const { return kind == FormKind::convex && vertices.size() == 1; }

  Index nbytes() const;

 private:
  void find_edges();
  void measure();
};

/// Pose of a form.
struct FormPose {
  Eigen::Matrix3d rotation;
  Vector3 position;
  Vector3 operator()(const Vector3& x) const { return rotation * x + position; }
};

/// Whether a closed surface is convex to within `tolerance` (m).
bool is_convex(std::span<const Vector3> vertices, std::span<const mesh::Triangle> triangles, double tolerance);

}  // namespace meniscus::solids
