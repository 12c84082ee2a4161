/// Closest points of the surface of a solid, x - phi grad phi, and the gradients of its distance.
#pragma once

#include "meniscus/surface/shapes/mesh_distance.hpp"
#include "meniscus/surface/tetrahedra/signed_distance.hpp"

namespace meniscus::surface {

/// Fills the closest points (m) and the unit gradients of the distance at `points`. Gradients are differences between points at
/// `step` (m); where they vanish, as in the middle of a symmetric body, `normals` are a unit vector all the same.
void closest_points(const SignedDistance& distance, std::span<const mesh::Point> points, double step,
                    std::span<mesh::Point> closest, std::span<mesh::Point> normals);

/// The same for a mesh, exactly, with the triangle of each point and the barycentric coordinates in it. In parallel.
void closest_points(const MeshDistance& distance, std::span<const mesh::Point> points, std::span<mesh::Point> closest,
                    std::span<mesh::Point> normals, std::span<std::int32_t> triangles, std::span<mesh::Point> barycentric);

}  // namespace meniscus::surface
