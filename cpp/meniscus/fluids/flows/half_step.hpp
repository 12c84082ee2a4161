/// Velocities at the end of a step, and in the middle of the next one.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Takes a velocity that forces and pressure have changed for dt seconds back by half of that change: from the middle of the next
/// step to the end of this one. Where `known` is not set, `closed` is (null: nowhere), or a side gives the velocity, it stays.
/// `change`: in, the velocity before; out, the acceleration (m/s^2), each component at most `largest` in size.
template <class T, int D>
void take_half_back(grid::MacField<T, D>& velocity, grid::MacField<T, D>& change, const std::array<const std::uint8_t*, D>& known,
                    const std::array<const std::uint8_t*, D>& closed, double dt, double largest);

}  // namespace meniscus::fluids
