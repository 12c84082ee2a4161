/// Water in disabled tetrahedra of a mesh that nothing can leave: it goes to the nearest that can hold some.
///
/// In a mesh with an open boundary such water leaves, and becomes drops.
///
/// Source: Lee 2018, section 3.6, says that water stays where it cannot go on; a disabled tetrahedron holds none.
#pragma once

#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

namespace meniscus::fluids {

/// Moves what disabled tetrahedra hold in equal parts to those that are the fewest steps across faces away, through disabled
/// ones alone where that is possible, else through the solid; from a part of the mesh in which none is enabled, to the one with
/// the nearest centroid. Whatever their room: push-out comes afterwards. Volume and momentum are conserved.
void free_shut_in_water(const TetWater& water, const WaterRoom& room, const Quantum& quantum, Parcels& parcels,
                        Workspace& workspace);

}  // namespace meniscus::fluids
