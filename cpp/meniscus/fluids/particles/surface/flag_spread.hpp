/// Spread of flags over the cells around.
#pragma once

#include "meniscus/grid/particles/cell_neighbors.hpp"

namespace meniscus::fluids {

/// flags[c] = whether all (or any) cells within `reach` of c along every axis have their flag (0 or 1), by the cells of a window;
/// sides as for neighbours. Cells beyond the window count as having what changes nothing. `scratch`: as large as the flags.
template <int D>
void spread_flags(const grid::Grid<D>& grid, const grid::SearchWindow<D>& window, std::uint8_t* flags, std::uint8_t* scratch,
                  Index reach, bool all);

}  // namespace meniscus::fluids
