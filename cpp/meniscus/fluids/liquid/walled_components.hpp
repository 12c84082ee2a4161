/// Connected components of a liquid between thin walls, and their volumes.
///
/// Cells are connected through faces that no wall blocks. A cell counts to the side of the walls where its centre is, and holds
/// what is liquid of it as the centre sees it, up to the walls: on a blocked face, as far as the wall that its centre meets,
/// which may be beyond the face. Between planes the volumes add up exactly, wherever the planes are between the centres.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <vector>

namespace meniscus::fluids {

/// As `measure_components`; of a single block. Of a cell that a solid cuts (level set on nodes, or nullptr) counts what is
/// outside of it.
template <class T, int D>
void measure_walled_components(grid::Field<T, D>& levelset, const grid::ThinWalls<D>& walls, const grid::Field<double, D>* solid,
                               std::int32_t* labels, std::vector<double>& volumes, Workspace& workspace);

/// The volume that counts to each cell, in cells: up to the walls, so that it may be more than one.
template <class T, int D>
void walled_fractions(grid::Field<T, D>& levelset, const grid::ThinWalls<D>& walls, grid::Field<T, D>& fractions,
                      Workspace& workspace);

/// As `spread_labels`, through faces that no wall blocks.
template <int D>
void spread_walled_labels(const grid::ThinWalls<D>& walls, std::int32_t* labels, int layers, const grid::Field<double, D>* solid,
                          Workspace& workspace);

/// Where liquid has moved while walls did.
template <int D>
struct MovedWalls {
  const grid::ThinWalls<D>* start = nullptr;
  const std::uint8_t* swept = nullptr;  ///< cells that they passed or cover
};

/// As `component_origins`: a cell that a wall has passed has no origin, and no other one looks through walls.
template <class T, int D>
void walled_origins(const grid::MacField<T, D>& velocity, double dt, const MovedWalls<D>& walls, const std::int32_t* before,
                    const std::int32_t* now, std::int32_t* origin);

}  // namespace meniscus::fluids
