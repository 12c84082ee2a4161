/// Kinds of fluxes of shallow water: plain, beside an acceleration that varies, beside a pressure on the surface.
#pragma once

#include "meniscus/core/namespaces.hpp"

namespace meniscus::fluids {

/// plain: nothing more. curved: the acceleration of gravity differs from cell to cell. pressed: the pressure on the surface does.
enum class FluxKind : int { plain, curved, pressed };

}  // namespace meniscus::fluids
