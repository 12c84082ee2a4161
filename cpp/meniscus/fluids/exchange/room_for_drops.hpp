/// Cells of a liquid that expand to make room for what it absorbs.
///
/// A divergence D in a cell that the liquid fills makes the volume D V dt in a step. One that the surface or a solid cuts makes
/// less, so room is sought in whole cells: in those that the liquid fills within one cell of the place, or within two, or else
/// in any liquid cells that no solid cuts.
///
/// Source: Losasso, Talton, Kwatra and Fedkiw 2008, section 4.3; Lee 2018, section 3.4 ("adding an expansion force").
#pragma once

#include "meniscus/grid/field.hpp"

#include <vector>

namespace meniscus::fluids {

struct Room {
  std::vector<Index> cells;          ///< C-ordered indices in the domain, in no order, with repetitions
  std::vector<double> volumes;       ///< share of each, m^D
  std::vector<std::uint8_t> liquid;  ///< whether the cell can expand; else its share has to wait there
};

/// Collective: finds room for n volumes (m^D, of any sign) at positions (n, D), m, in this block: each is shared evenly by the
/// cells around it. `solid`: its level set on nodes, or nullptr. Fills the ghosts of the level set that other blocks own.
template <class T, int D>
Room find_room(grid::Field<T, D>& levelset, const grid::Field<double, D>* solid, const double* positions, const double* volumes,
               Index n);

}  // namespace meniscus::fluids
