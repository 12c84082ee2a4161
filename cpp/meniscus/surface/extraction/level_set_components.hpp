/// Connected components of the inside of a level set (and of its outside), with their volumes.
///
/// Samples with a common face are connected; so are the two ends of a period. Rows are cut into runs of equal sign, and runs that
/// touch are united in parallel. In any order of unions, the root of a part is its first run. Parts that go through several
/// blocks of a domain are joined then (join_components), and volumes are added in fixed point, so that blocks do not matter.
///
/// Source: He, Chao and Suzuki 2008, "A run-based two-scan labeling algorithm"; union by compare-and-swap as in Anderson and Woll
/// 1991.
#pragma once

#include "meniscus/surface/extraction/film_labels.hpp"

namespace meniscus::surface {

struct ComponentCounts {
  Index inside = 0;
  Index outside = 0;  ///< 0 unless asked for
};

/// Collective, as all of this. Writes a label for every sample (in the order of the field, without ghosts): 1, 2, ... inside,
/// numbered by their first sample; outside 0, or -1, -2, ... with `both`. Throws InvalidArgument for samples that are not finite.
template <class T, int D>
ComponentCounts label_components(const grid::Field<T, D>& phi, bool both, std::int32_t* labels, Workspace& workspace);

/// Collective: labels from 1 of the parts of what a solid (on nodes, with ghosts up to date; null: none) leaves of the inside of
/// a level set on cells. A cell has a label if its centre is inside and not in the solid. So has each cell that the solid cuts,
/// or at a side of the domain, in which there is more than a thousandth of a cell, as in a film below the centres: that of a part
/// with which it has an open corner in common, or else one of its own.
template <class T, int D>
LabelledParts label_outside(const grid::Field<T, D>& phi, const grid::Field<double, D>* solid, std::int32_t* labels,
                            Workspace& workspace);

/// The volume of each part, m^D. A cell that is cut into several parts adds to each its piece; its outside volume is divided
/// equally between the parts of its outside corners. The volumes inside add up to that of `measure_level_set`, but for what no
/// cell with a label has.
/// With a solid, for labels of `label_outside`: of cubes between samples that it reaches into, what both surfaces leave
/// (cut_octant.hpp).
template <class T, int D>
void component_volumes(const grid::Field<T, D>& phi, const std::int32_t* labels, const ComponentCounts& counts, double* inside,
                       double* outside, Workspace& workspace, const grid::Field<double, D>* solid = nullptr);

}  // namespace meniscus::surface
