/// Transfer of the circulations of a vortex sheet to a changed mesh.
///
/// Exact rules: the new edges of a patch get the values, at their middles, of the potential of the old patch. Halves of a split
/// triangle then have half of its vorticity each, flips and collapses leave a linear potential as it is, and sheets that part
/// keep what they had. Where two closed parts merge, the constant of the smaller one, which has no meaning, is chosen such that
/// both fit. The sum of the vorticity does not change by anything that keeps the rim of a patch.
///
/// Source: Brochu 2012, section 6.3.1 and Figures 6.2 and 6.3 (the printed rules); the exact ones are ours.
#pragma once

#include "meniscus/fluids/sheets/vortex_sheet.hpp"
#include "meniscus/mesh/dynamic/surface_events.hpp"

namespace meniscus::fluids {

enum class CirculationRule : std::int8_t {
  exact,    ///< values of the old potential
  printed,  ///< halves of a split edge inherit its circulation, other new edges have none; tubes hand over two
};

/// Circulations of the edges after the events, ascending, of those before. Positions after them may differ from those of the
/// events by smoothing; exact rules follow it.
std::vector<double> transfer_circulation(const mesh::SurfaceEvents& events, CirculationRule rule, const SheetView& before,
                                         std::span<const double> circulation, const SheetView& after);

/// The same for vertices that have moved within the surface, from `before` to `after`.
void follow_smoothing(std::span<const mesh::Point> before, const SheetView& after, const mesh::TriangleTopology& topology,
                      std::span<double> circulation);

}  // namespace meniscus::fluids
