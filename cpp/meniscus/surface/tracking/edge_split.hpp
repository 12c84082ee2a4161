/// Split of edges: each gets a vertex on the smooth surface through its neighbours, or in its middle.
///
/// Source: Brochu 2012, section 3.2.4 (edge split); places as in `placement/butterfly.hpp`.
#pragma once

#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// The vertex that an edit made, and whether a triangle turned over by it.
struct SplitEdge {
  std::int32_t vertex;
  bool turned;
};

/// The edit of a split alone, with its transfers: between `begin` and `commit` of an editor.
SplitEdge edit_split(SurfaceEditor& editor, std::int32_t a, std::int32_t b, const mesh::Point& place);

/// Splits an edge with any number of triangles.
Refusal split_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b);

/// Splits edges above the longest length, longest first, until none is left that can be.
void split_edges(SurfaceEditor& editor);

}  // namespace meniscus::surface
