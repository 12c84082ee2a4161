/// Control particles: points that draw a fluid towards them and give it their velocity.
///
/// Particle i has the kernel W_i(d) = s_i (1 - d^2 / r_i^2)^3 for distances d below its radius r_i. The particles have the
/// potential -w_a sum_i alpha_i W_i, whose force is w_a sum_i alpha_i grad W_i, and control the part min(1, sum_i W_i) of a cell,
/// with their mean velocity by kernel. alpha_i = 1 - (fluid in the kernel) / (room in the kernel), both weighted by W_i, lets the
/// attraction of a particle cease as the fluid covers it.
///
/// The potential is given at the centres of cells, and its differences are the force on faces: what pressure can balance is then
/// balanced exactly, and a fluid that fills the particles' region rests.
///
/// Source: Thürey, Keiser, Pauly and Rüde, "Detail-preserving fluid control", 2006, section 3.
#pragma once

#include "meniscus/fluids/control/control_cells.hpp"
#include "meniscus/fluids/control/control_medium.hpp"

namespace meniscus::fluids {

/// Particles that all blocks know: rows of positions (m) and velocities (m/s), radii (m) and the heights s of the kernels.
struct ControlPoints {
  Index count = 0;
  const double* positions = nullptr;
  const double* velocities = nullptr;
  const double* radii = nullptr;
  const double* heights = nullptr;
};

/// Sets the cells to what particles do. Collective where `medium` is given, by whose coverage the attraction is limited. Throws
/// InvalidArgument for radii below the spacing or above the longest side of the domain.
template <class T, int D>
void set_control_cells(const ControlPoints& points, double attraction, const ControlMedium<T, D>* medium, ControlCells<D>& cells,
                       Workspace& workspace);

}  // namespace meniscus::fluids
