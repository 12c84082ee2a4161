/// Vortex sheets on triangle meshes: one circulation per edge, of which the vorticity of the triangles follows.
///
/// The circulation G of an edge is the value, at its middle, of a potential that is linear in each triangle (the element of
/// Crouzeix and Raviart), and the jump of the potential of the flow across the sheet. The vorticity of a triangle is the sum of
/// its edge vectors, counter-clockwise, times their circulations: that of the closed triangle and tangent to it. Over a closed
/// mesh it adds up to zero.
///
/// Source: Brochu 2012, sections 6.1 and 6.3; the orientation, which is not stated there, is that which makes (6.5) solvable
/// exactly.
#pragma once

#include "meniscus/mesh/topology/triangle_topology.hpp"

namespace meniscus::fluids {

struct SheetView {
  std::span<const mesh::Point> points;
  std::span<const mesh::Triangle> triangles;
};

/// Vorticity times area (m^3/s), rows of three, and centres (m) of the triangles.
void sheet_vorticity(const SheetView& sheet, const mesh::TriangleTopology& topology, std::span<const double> circulation,
                     std::span<mesh::Point> vorticity, std::span<mesh::Point> centres);

/// Impulse of the flow over its density, m^4/s: half the sum of centre x vorticity.
mesh::Point sheet_impulse(std::span<const mesh::Point> vorticity, std::span<const mesh::Point> centres);

/// Kinetic energy over the density, m^5/s^2, of velocities at the centres of the triangles.
double sheet_energy(const SheetView& sheet, const mesh::TriangleTopology& topology, std::span<const double> circulation,
                    std::span<const mesh::Point> velocity);

/// Change of the circulations (m^2/s) in a second where the inside of the sheet has an acceleration that is the gradient of a
/// potential (m^2/s^2), from its values at vertices and at the middles of edges: minus its mean along each edge.
void buoyant_circulation(const mesh::TriangleTopology& topology, std::span<const double> at_vertices,
                         std::span<const double> at_middles, std::span<double> rate);

/// The potential of a triangle at barycentric weights, from the circulations of its edges 01, 12 and 20.
inline double potential_in(const std::array<double, 3>& edges, const std::array<double, 3>& weights) {
  return edges[0] * (1.0 - 2.0 * weights[2]) + edges[1] * (1.0 - 2.0 * weights[0]) + edges[2] * (1.0 - 2.0 * weights[1]);
}

/// The gradient of the potential of a triangle.
mesh::Point potential_gradient(const std::array<mesh::Point, 3>& corners, const std::array<double, 3>& edges);

}  // namespace meniscus::fluids
