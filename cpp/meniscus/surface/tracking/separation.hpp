/// Separation of sheets: pairs of triangles back to back go, and vertices at which sheets only touch become one vertex for each.
///
/// Source: Brochu 2012, section 3.2.5. Sheets at edges with four triangles are ours: the surface passes on to the triangle with
/// which its own encloses the inside, so that a neck parts as soon as it has become an edge.
#pragma once

#include "meniscus/surface/tracking/surface_editor.hpp"

namespace meniscus::surface {

/// Ends the part of an operation of this kind that `editor` has begun, and cleans the surface at its new triangles, as a further
/// part. False where that is not possible or, without changes of topology, not allowed; then the operation has to be refused.
bool separate_sheets(SurfaceEditor& editor, mesh::EventKind kind);

}  // namespace meniscus::surface
