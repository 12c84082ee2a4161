/// Merging of parts of a surface that are close to each other: the triangles of two edges make way for a tube between them.
///
/// Source: Brochu 2012, section 3.2.6. Other ways to turn the tube, gaps that lie inside or outside, and the test of what the
/// tube encloses are ours.
#pragma once

#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// Joins two edges with two triangles each and no vertex in common.
Refusal merge_edges(SurfaceEditor& editor, std::array<std::int32_t, 2> first, std::array<std::int32_t, 2> second);

/// Joins the pairs of edges that are closer than the distance to merge, the closest first.
void merge_close_edges(SurfaceEditor& editor);

}  // namespace meniscus::surface
