/// Sampling of moving closed triangle meshes on a grid: level sets under a pose, and velocities of the surface.
#pragma once

#include "meniscus/surface/shapes/mesh_distance.hpp"
#include "meniscus/surface/shapes/solid_sampling.hpp"

namespace meniscus::surface {

/// As `sample_signed_distance` of a shape, for a mesh under a pose.
void sample_signed_distance(const MeshDistance& mesh, const RigidPose<3>& pose, double band, bool periodic_images,
                            grid::Field<double, 3>& phi, Workspace& workspace);

/// Sets every face with a corner where `phi` (on nodes) is at most `band` (m) to the velocity of the closest point of the mesh,
/// interpolated in its triangle between those of the vertices (m/s); others become zero, and ghosts are filled. A face stands for
/// an image of it.
template <class T>
void sample_mesh_velocity(const MeshDistance& mesh, std::span<const mesh::Point> vertex_velocity,
                          const grid::Field<double, 3>& phi, double band, const grid::NearestImage<3>& image,
                          grid::MacField<T, 3>& velocity);

}  // namespace meniscus::surface
