/// Flip of edges to the shorter diagonal of their two triangles.
///
/// Source: Brochu 2012, section 3.2.4 (edge flip).
#pragma once

#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// The edit of a flip alone, with its transfers: t passes the edge from a to b, and u back.
void edit_flip(SurfaceEditor& editor, std::int32_t t, std::int32_t u, std::int32_t a, std::int32_t b);

/// Flips an edge with two triangles; with four, of a pair of them between which the inside lies. `shorten`: only to a shorter
/// diagonal.
Refusal flip_edge(SurfaceEditor& editor, std::int32_t a, std::int32_t b, bool shorten);

/// Sweeps over all edges until none is flipped, at most as often as options say.
void flip_edges(SurfaceEditor& editor);

}  // namespace meniscus::surface
