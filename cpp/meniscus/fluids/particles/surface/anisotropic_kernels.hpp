/// Anisotropic kernels, stretched like the neighbourhoods of particles: Yu and Turk, "Reconstructing surfaces of particle-based
/// fluids using anisotropic kernels", 2013.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/particles/cell_neighbors.hpp"

namespace meniscus::fluids {

/// One kernel: its value at y (cells) is scale * P(|stretch (y - center)|), P the cubic spline of support 2.
template <int D>
struct AnisotropicKernel {
  Vec<double, D> center;
  Eigen::Matrix<double, D, D> stretch;
  double scale;
  /// Cells around the particle that the kernel reaches.
  double reach;
};

/// Ratio of the largest to the smallest variance of a neighbourhood, at most.
inline constexpr double max_anisotropy = 4.0;

/// The kernel of one particle at `x` in `cell`; `support`: of its neighbourhood, in cells.
template <int D>
AnisotropicKernel<D> anisotropic_kernel(const grid::CellParticles<D>& particles, const Coord<D>& cell, const double* x,
                                        double support);

/// The sum of kernels and its gradient at `y` (cells) from the particles in the cells within `reach` of `cell`.
template <int D>
struct KernelSum {
  double value = 0.0;
  Vec<double, D> gradient = Vec<double, D>::Zero();
};

template <int D>
KernelSum<D> sum_kernels(const grid::CellParticles<D>& particles, const AnisotropicKernel<D>* kernels, const Coord<D>& cell,
                         Index reach, const Vec<double, D>& y);

}  // namespace meniscus::fluids
