/// Sampling of moving solids on a grid: level sets and velocities.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/point_images.hpp"
#include "meniscus/surface/shapes/implicit_shape.hpp"

namespace meniscus::surface {

/// Sets `phi`, with its ghosts, to the signed distance of the shape under a pose; with `periodic_images`, of its union with its
/// periodic images.
///
/// Blocks of samples that lie farther than `band` (m, may be infinite) from the surface get one value each, of the right sign, at
/// least `band` in size and not above the distance; closer samples get the shape's own value.
template <class T, int D>
void sample_signed_distance(const ImplicitShape<D>& shape, const RigidPose<D>& pose, double band, bool periodic_images,
                            grid::Field<T, D>& phi, Workspace& workspace);

/// v(x) = linear + gradient (x - reference), m/s.
template <int D>
struct AffineVelocity {
  Vec<double, D> linear;
  Eigen::Matrix<double, D, D> gradient;
  Vec<double, D> reference;
};

/// Sets the faces of `velocity`, with its ghosts, to v, where x is an image of the face.
template <class T, int D>
void sample_affine_velocity(const AffineVelocity<D>& v, const grid::NearestImage<D>& image, grid::MacField<T, D>& velocity,
                            Workspace& workspace);

/// Adds a solid to a group: faces that are closer to it (by the mean of phi over their corners) take its velocity, nodes the
/// smaller phi; then fills the ghosts. Throws InvalidArgument for fields of another grid.
template <class T, int D>
void merge_solid(const grid::Field<double, D>& solid_phi, const grid::MacField<T, D>& solid_velocity, grid::Field<double, D>& phi,
                 grid::MacField<T, D>& velocity);

}  // namespace meniscus::surface
