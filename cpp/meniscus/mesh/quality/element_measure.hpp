/// Lengths, areas and volumes of the elements of a mesh, and the masses that they give to their corners.
///
/// Source: Selle 2008, section 5.2; Mueller et al., "Real time physics" course notes, 2008, section 3.6 (a mass of an element is
/// shared by its corners equally).
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/topology/vertex_stars.hpp"

namespace meniscus::mesh {

/// N = 2: lengths, m; N = 3: areas, m^2; N = 4: signed volumes, m^3.
template <std::size_t N>
void measure_elements(std::span<const Point> vertices, std::span<const std::array<std::int32_t, N>> elements,
                      std::span<double> out);

/// The sum of values, as exact as if its terms were added in twice the precision; the same on any number of threads.
double sum_of(std::span<const double> values);

/// The volume inside of a closed surface, negative if it is inside out, m^3.
double enclosed_volume(const TriangleMeshView& mesh);

/// out[v] = the sum over the elements at vertex v of a share 1 / N of the mass of each, in ascending order. The same on any
/// number of threads.
template <std::size_t N>
void lump_masses(const VertexStars<N>& stars, std::span<const double> element_masses, std::span<double> out);

}  // namespace meniscus::mesh
