/// Forces of control particles and shapes on a velocity.
///
/// In a step of dt a face gets u += -dt grad(potential) + (1 - exp(-rate cover dt)) (v - u_slow): the attraction, and the exact
/// relaxation of the slow part of the velocity towards that of the control, which is stable for any rate and step. u_slow is the
/// mean of the velocity over a width (`low_pass.hpp`), so that vortices smaller than this live on; without a width it is the
/// velocity itself. In a gas the attraction acts on the smoke: it is weighted by the part of the face that smoke fills, since a
/// force with a potential would do nothing to a gas that fills the domain.
///
/// Source: Thürey, Keiser, Pauly and Rüde, "Detail-preserving fluid control", 2006, sections 3 and 4; attraction by density:
/// Fattal and Lischinski, "Target-driven smoke animation", 2004, section 3.1.
#pragma once

#include "meniscus/fluids/control/control_cells.hpp"
#include "meniscus/fluids/control/control_medium.hpp"
#include "meniscus/fluids/exchange/face_liquid.hpp"

namespace meniscus::fluids {

struct ControlForce {
  /// Of the relaxation where a cell is controlled wholly, 1/s.
  double rate = 0.0;
  /// Width of the means, m, rounded to whole cells; 0: none.
  double detail = 0.0;
  /// Largest change of a face's velocity per second, m/s^2.
  double max_acceleration = 0.0;
};

/// Collective: lets the cells act on a velocity for dt; returns the momentum per density that the fluid gains, m^(D + 1)/s.
/// `faces`: per axis, nonzero for faces of the fluid, of the block in C order; others keep their velocity and do not count in
/// means, as faces whose normal velocity is given. Throws InvalidArgument for values out of range; then nothing is changed.
template <class T, int D>
VectorSum apply_control(const ControlCells<D>& cells, const ControlMedium<T, D>& medium, const ControlForce& force, double dt,
                        const std::array<const std::uint8_t*, D>& faces, grid::MacField<T, D>& velocity, Workspace& workspace);

}  // namespace meniscus::fluids
