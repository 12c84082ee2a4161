#include "meniscus/coupling/shell_pressure/sheet_sides.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::coupling {

void require_valid(std::span<const SheetSide> sides, int dimension, Index cells, Index nodes) {
  for (std::size_t s = 0; s < sides.size(); ++s) {
    const SheetSide& side = sides[s];
    require(side.axis >= 0 && side.axis < dimension, "side ", s, " has axis ", side.axis, ", which the grid has not");
    require(side.cell >= -1 && side.cell < cells, "side ", s, " has cell ", side.cell, ", which the grid has not");
    require(std::isfinite(side.area) && side.area >= 0 && std::isfinite(side.mass) && side.mass >= 0, "side ", s,
            " must have a finite area and mass, neither below zero");
    for (std::size_t k = 0; k < 3; ++k) {
      require(side.nodes[k] >= 0 && side.nodes[k] < nodes, "side ", s, " has node ", side.nodes[k], ", but there are ", nodes);
      require(std::isfinite(side.weights[k]), "side ", s, " has a weight that is not finite");
    }
  }
}

}  // namespace meniscus::coupling
