/// What a flux of shallow water has to take into account.
#pragma once

#include "meniscus/core/namespaces.hpp"

namespace meniscus::fluids {

/// plain: nothing more. curved: the acceleration of gravity differs from cell to cell. pressed: the pressure on the surface does.
enum class FluxKind : int { plain, curved, pressed };

}  // namespace meniscus::fluids
