/// Control by a shape: fluid outside is drawn towards it along the gradient of its distance, fluid inside gets its velocity.
///
/// The potential is w_a (1 - (1 - phi / reach)^2) for distances 0 < phi < reach, w_a beyond and 0 inside: the acceleration is
/// 2 w_a / reach at the surface, so that a fluid is held there, and fades to zero at the reach. The shape controls the part
/// 1/2 - phi / h of a cell, between 0 and 1.
#pragma once

#include "meniscus/fluids/control/control_cells.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Sets the cells to what a shape does. `distance`: signed, on nodes, m; exact up to `reach` (m). `motion`: velocity of the
/// shape, m/s. Both with filled ghosts.
template <class T, int D>
void set_control_cells(const grid::Field<double, D>& distance, const grid::MacField<T, D>& motion, double attraction,
                       double reach, ControlCells<D>& cells);

}  // namespace meniscus::fluids
