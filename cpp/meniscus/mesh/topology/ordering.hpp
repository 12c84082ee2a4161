/// Orderings of vertices and elements that place neighbours in the mesh close together in memory.
///
/// Source: Cuthill and McKee, "Reducing the bandwidth of sparse symmetric matrices", 1969; George and Liu, "An implementation of
/// a pseudoperipheral node finder", 1979.
#pragma once

#include "meniscus/mesh/topology/edge_graph.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

namespace meniscus::mesh {

/// The points along a Morton curve through their bounding box: position i of the result is the former index. Points in the same
/// of 2^21 cells along each axis keep their order.
std::vector<std::int32_t> morton_order(std::span<const Point> points);

/// The reverse Cuthill-McKee order of the vertices: neighbours have numbers close to each other. Vertices without edges come
/// last.
std::vector<std::int32_t> reverse_cuthill_mckee(const EdgeGraph& graph);

/// The elements in the order of the lowest of the new numbers of their corners; `number` is the new number of each vertex.
template <std::size_t N>
std::vector<std::int32_t> element_order(std::span<const std::array<std::int32_t, N>> elements,
                                        std::span<const std::int32_t> number);

}  // namespace meniscus::mesh
