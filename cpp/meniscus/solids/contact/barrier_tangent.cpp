#include "meniscus/solids/contact/barrier_tangent.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::solids {
namespace {

double weight_of(const collision::ContactNodes& nodes, std::int32_t vertex, std::int32_t node) {
  double sum = 0;
  for (const collision::NodeShare& s : nodes.shares(vertex))
    if (s.node == node) sum += s.weight;
  return sum;
}

/// add(node, vertex, weight) for all vertices of each node.
template <class Add>
void each_share(const collision::ContactNodes& nodes, Add&& add) {
  nodes::each(nodes.nodes(), [&](std::size_t i) {
    const auto node = static_cast<std::int32_t>(i);
    for (const std::int32_t v : nodes.vertices_of(node)) add(i, static_cast<std::size_t>(v), weight_of(nodes, v, node));
  });
}

}  // namespace

void add_to_nodes(const collision::ContactNodes& nodes, ConstPoints of_vertices, Points out) {
  require(static_cast<Index>(of_vertices.size()) == nodes.vertices() && static_cast<Index>(out.size()) == nodes.nodes(),
          "there are ", nodes.vertices(), " vertices and ", nodes.nodes(), " nodes, not ", of_vertices.size(), " and ",
          out.size());
  each_share(nodes, [&](std::size_t i, std::size_t v, double w) { out[i] += w * of_vertices[v]; });
}

BarrierTangent::BarrierTangent(const collision::ContactNodes& nodes, collision::Barrier& barrier, double stiffness,
                               collision::BarrierFriction& friction, std::span<const std::int32_t> single,
                               std::span<const Block3> blocks)
    : nodes_(nodes),
      barrier_(barrier),
      stiffness_(stiffness),
      friction_(friction),
      single_(single),
      blocks_(blocks),
      vertices_(nodes.vertices()),
      sums_(nodes.vertices()) {
  require(single.size() == blocks.size(), "there must be one block per node, not ", blocks.size(), " for ", single.size());
  for (std::size_t k = 0; k < single.size(); ++k) {
    require(single[k] >= 0 && single[k] < nodes.nodes(), "there is no node ", single[k]);
    require(k == 0 || single[k] > single[k - 1], "nodes must ascend");
  }
}

void BarrierTangent::add_product(ConstPoints u, double factor, Points out) {
  if (!barrier_.pairs().empty() || friction_.size() > 0) {
    nodes_.at_vertices(u, vertices_);
    nodes::clear(sums_);
    barrier_.add_product(vertices_, stiffness_, sums_);
    friction_.add_product(vertices_, sums_);
    each_share(nodes_, [&](std::size_t i, std::size_t v, double w) { out[i] += (factor * w) * sums_[v]; });
  }
  nodes::each(static_cast<Index>(single_.size()), [&](std::size_t k) {
    const Index i = single_[k];
    out[i] += factor * (blocks_[k] * u[i]);
  });
}

void BarrierTangent::add_diagonal(double factor, std::span<Block3> out) const {
  std::vector<Block3> of_vertices(vertices_.size(), Block3::Zero());
  barrier_.add_diagonal(stiffness_, of_vertices);
  friction_.add_diagonal(of_vertices);
  each_share(nodes_, [&](std::size_t i, std::size_t v, double w) { out[i] += (factor * w * w) * of_vertices[v]; });
  for (std::size_t k = 0; k < single_.size(); ++k) out[single_[k]] += factor * blocks_[k];
}

}  // namespace meniscus::solids
