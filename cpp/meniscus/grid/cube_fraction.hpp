/// Part of a cube that a plane cuts off.
#pragma once

#include <array>

namespace meniscus::grid {

/// Part of the unit cube, centred at the origin, in which value + gradient . x <= 0.
template <int D>
double cube_fraction(double value, std::array<double, D> gradient);

}  // namespace meniscus::grid
