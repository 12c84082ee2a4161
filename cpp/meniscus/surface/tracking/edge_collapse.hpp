/// Collapse of short edges, by which the surface also parts where it has become thin.
///
/// Source: Brochu 2012, sections 3.2.4 (edge collapse) and 3.2.5. The place that leaves the volume as it is, is after Lindstrom
/// and Turk, "Fast and memory efficient polygonal simplification", 1998.
#pragma once

#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// Triangles of both ends, those of the edge apart; ascending.
struct Fans {
  std::vector<std::int32_t> a, b, both;
};
void find_fans(const mesh::DynamicSurface& s, std::int32_t a, std::int32_t b, Fans& out);

/// Whether a collapse leaves the topology as it is: common neighbours of both ends are corners of their common triangles, and an
/// edge between two boundaries is not joined.
bool link_holds(const mesh::DynamicSurface& s, const Fans& fans, std::int32_t a, std::int32_t b);

/// The edit of a collapse alone, with its transfers: a moves to x, and takes the place of b.
void edit_collapse(SurfaceEditor& editor, const Fans& fans, std::int32_t a, std::int32_t b, const mesh::Point& x);

Refusal collapse_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b);

/// Removes closed parts of a few triangles that enclose next to nothing: what is left of bodies that have vanished.
void remove_residues(SurfaceEditor& editor);

/// Collapses edges below the shortest length, shortest first, until none is left that can be; then edges of triangles with bad
/// angles.
void collapse_edges(SurfaceEditor& editor);

}  // namespace meniscus::surface
