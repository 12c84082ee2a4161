/// Entries of a matrix over the nodes of a mesh, from its products alone: nodes that no row sees together are probed at once.
///
/// Source: Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices", 1974.
#pragma once

#include "meniscus/solids/force.hpp"

#include <Eigen/SparseCore>

#include <functional>
#include <vector>

namespace meniscus::coupling {

using NodalTriplets = std::vector<Eigen::Triplet<double, int>>;
using NodalProduct = std::function<void(std::span<const mesh::Point>, std::span<mesh::Point>)>;

/// Rows of nodes that lie in one element with a node of one element with them: what springs along edges, membranes and bending
/// about edges couple. Each row is ascending and contains the node itself.
std::vector<std::vector<std::int32_t>> nodes_within_two_elements(std::span<const std::int32_t> elements, int corners,
                                                                 Index nodes);

/// The entries at 3 * node + axis in these rows; what the matrix has outside of them goes astray. `product` sets its second
/// argument.
void probe_entries(const std::vector<std::vector<std::int32_t>>& rows, const NodalProduct& product, NodalTriplets& out);

}  // namespace meniscus::coupling
