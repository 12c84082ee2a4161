/// Components that go through several blocks of a domain: one label for all their parts.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::surface {

/// Collective where the grid is cut. `labels` has the owned extents; every block has numbered its own parts 1, 2, ..., `count` in
/// the order of their first samples, and `sign` * these numbers are in `labels`. Parts that have samples with a common face
/// become one, and all are numbered anew by their first samples in the domain. Returns how many there are.
///
/// Copies of samples on shared sides are not set. Gathers the first sample of every part, and every pair of parts that meet.
template <int D>
Index join_components(const grid::FieldLayout<D>& layout, std::int32_t* labels, Index count, int sign, Workspace& workspace);

}  // namespace meniscus::surface
