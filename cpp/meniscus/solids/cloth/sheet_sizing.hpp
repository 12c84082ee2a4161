/// Wanted lengths of the edges of a sheet, as metrics of its vertices in the plane at rest.
///
/// Sources: Brochu 2012, section 4.2.4 (lengths times curvature; the curvature of an edge is |2 n . P| / |P|^2 for its vector P
/// and the normal n at its end); Narain, Samii and O'Brien, "Adaptive anisotropic remeshing for cloth simulation", 2012 (tensors,
/// by curvature and compression).
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/solids/cloth/sheet_options.hpp"

#include <vector>

namespace meniscus::solids {

/// A symmetric tensor in the plane at rest, 1/m^2: an edge u of the wanted length has u^T M u = 1.
struct SheetMetric {
  double xx = 0, yy = 0, xy = 0;
  double square(const RestPoint& u) const { return xx * u[0] * u[0] + yy * u[1] * u[1] + 2 * xy * u[0] * u[1]; }
};
inline SheetMetric operator+(const SheetMetric& a, const SheetMetric& b) { return {a.xx + b.xx, a.yy + b.yy, a.xy + b.xy}; }
inline SheetMetric operator*(double s, const SheetMetric& a) { return {s * a.xx, s * a.yy, s * a.xy}; }

/// One metric per vertex.
void find_metrics(const mesh::TriangleMeshView& sheet, std::span<const RestPoint> rest, const SheetOptions& options,
                  std::vector<SheetMetric>& out);

/// The size of an edge between metrics: its length over the wanted one. With `curvature`, the length is that in space.
double edge_size(SheetSizing sizing, const SheetMetric& a, const SheetMetric& b, const RestPoint& rest, double length);

}  // namespace meniscus::solids
