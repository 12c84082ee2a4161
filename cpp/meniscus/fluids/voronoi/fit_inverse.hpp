/// Inverse of the normal equations of a linear fit of velocities.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::fluids {

/// Unknowns: the velocity, and its three derivatives times the length that distances are scaled by.
using FitMatrix = Eigen::Matrix<double, 12, 12>;

/// The inverse. Derivatives that are as good as unknown, such as the shear of a film across it, are zero; constants are exact.
FitMatrix fit_inverse(const FitMatrix& n);

}  // namespace meniscus::fluids
