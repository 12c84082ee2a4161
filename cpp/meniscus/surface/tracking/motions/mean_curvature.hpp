/// Motion of a surface by its mean curvature, the sum of both principal curvatures.
///
/// Sources: Brochu 2012, section 3.3.2; Meyer, Desbrun, Schröder and Barr, "Discrete differential-geometry operators for
/// triangulated 2-manifolds", 2002 (cotangents, mixed areas); Desbrun et al., "Implicit fairing of irregular meshes", 1999
/// (backward Euler).
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::surface {

/// Velocities by which vertices follow curvature, m/s for a flow of 1 m^2/s: minus the curvature times the normal, which points
/// out of the surface. Vertices of the boundary stay. Returns the greatest sum of weights W, 1/m^2: explicit steps are stable up
/// to 1/W.
double curvature_velocity(const mesh::TriangleMeshView& surface, std::span<mesh::Point> out);

/// Positions after a step of dt, s, by backward Euler with the weights of the start; vertices with a flag stay where they are.
/// Returns the iterations of the solver. Throws InvalidArgument where it does not converge.
int curvature_step(const mesh::TriangleMeshView& surface, double dt, std::span<const std::uint8_t> fixed,
                   std::span<mesh::Point> out);

}  // namespace meniscus::surface
