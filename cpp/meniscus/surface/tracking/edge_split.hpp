/// Split of edges: each gets a vertex on the smooth surface through its neighbours, or in its middle.
///
/// Source: Brochu 2012, section 3.2.4 (edge split); Zorin, Schröder and Sweldens, "Interpolating subdivision for meshes with
/// arbitrary topology", 1996 (weights at vertices without six neighbours).
#pragma once

#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// The place of a new vertex of an edge with two triangles by butterfly subdivision; on the boundary, by cubics through its
/// vertices. The middle of the edge where neighbours for that are missing, or an end lies on a crease.
mesh::Point butterfly_point(const mesh::DynamicSurface& surface, std::int32_t a, std::int32_t b);

/// Whether the boundary of an open surface turns at a vertex of it, by more than 37 degrees.
bool boundary_turns(const mesh::DynamicSurface& surface, std::int32_t v);

/// Splits an edge with any number of triangles.
Refusal split_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b);

/// Splits edges above the longest length, longest first, until none is left that can be.
void split_edges(SurfaceEditor& editor);

}  // namespace meniscus::surface
