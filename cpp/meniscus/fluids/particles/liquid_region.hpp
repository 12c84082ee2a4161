/// Regions in which liquid particles are seeded, given a velocity, or removed, with tests of points.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/particles/particles.hpp"
#include "meniscus/surface/shapes/implicit_shape.hpp"

#include <functional>
#include <vector>

namespace meniscus::fluids {

/// Sets inside[i] to whether point i of n (n, D), row-major, m, is in a region.
using PointTest = std::function<void(const double* points, Index n, std::uint8_t* inside)>;

/// A shape under a pose, with its images on periodic axes next to the domain.
template <int D>
class LiquidRegion {
 public:
  LiquidRegion(surface::ShapePointer<D> shape, const surface::RigidPose<D>& pose, const grid::Grid<D>& grid);

  /// As `PointTest`, in parallel.
  void mark_inside(const double* points, Index n, std::uint8_t* inside) const;

 private:
  surface::ShapePointer<D> shape_;
  surface::RigidPose<D> pose_;
  std::vector<Vec<double, D>> shifts_;
};

/// Sets the velocity of the particles in a region, m/s (column 'velocity'), and a column 'affine' to zero.
template <class T, int D>
void set_velocity_in(grid::ParticleSet& particles, const LiquidRegion<D>& region, const Vec<double, D>& velocity,
                     Workspace& workspace);

/// Removes the particles in a region; returns their number.
template <class T, int D>
Index remove_particles_in(grid::ParticleSet& particles, const LiquidRegion<D>& region, Workspace& workspace);

}  // namespace meniscus::fluids
