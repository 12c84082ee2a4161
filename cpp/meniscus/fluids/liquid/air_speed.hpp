/// Bound on the velocity of the air beside a liquid.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Limits the components of a velocity on the faces of the cells `air` to the largest magnitude on `given` faces within two
/// cells, whatever their axis; cells without any are left alone, and so are given faces. Masks are one byte per owned cell or
/// face, in C order.
///
/// The air is a continuation of the liquid, not a fluid of its own. Pressed out of a gap that closes, an incompressible one would
/// be as fast as the gap is long; liquid that flows in behind it would inherit that speed, and bring new energy.
template <class T, int D>
void limit_air_speed(grid::MacField<T, D>& velocity, const std::uint8_t* air, const std::array<const std::uint8_t*, D>& given,
                     grid::Field<T, D>& scratch);

}  // namespace meniscus::fluids
