/// Choice of the preconditioner of the velocity solves.
#pragma once

#include <cstdint>

namespace meniscus::solids {

enum class Preconditioner : std::int8_t {
  none,
  blocks,     ///< the inverses of the 3 x 3 diagonal blocks
  multigrid,  ///< velocity_multigrid.hpp, where springs couple nodes; else `blocks`
  automatic,  ///< multigrid for large systems of springs
};

}  // namespace meniscus::solids
