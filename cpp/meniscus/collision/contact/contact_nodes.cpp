#include "meniscus/collision/contact/contact_nodes.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::collision {
namespace {

constexpr std::size_t most_shares = 4;
constexpr double weight_tolerance = 1e-9;
constexpr Index share_chunk = 2048;

}  // namespace

ContactNodes::ContactNodes(std::span<const double> inverse_masses) {
  set_inverse_masses(inverse_masses.empty() ? std::span<const double>() : inverse_masses);
  first_.resize(inverse_masses.size() + 1);
  std::iota(first_.begin(), first_.end(), 0);
  shares_.resize(inverse_masses.size());
  for (std::size_t i = 0; i < shares_.size(); ++i) shares_[i] = {static_cast<std::int32_t>(i), 1.0};
  connect();
}

ContactNodes::ContactNodes(std::span<const double> inverse_masses, std::span<const std::int32_t> first,
                           std::span<const NodeShare> shares) {
  require(!first.empty() && first.front() == 0 && static_cast<std::size_t>(first.back()) == shares.size(),
          "the offsets of the shares must begin at 0 and end at their number, ", shares.size());
  set_inverse_masses(inverse_masses);
  for (std::size_t v = 0; v + 1 < first.size(); ++v) {
    const std::int32_t count = first[v + 1] - first[v];
    require(count >= 1 && count <= static_cast<std::int32_t>(most_shares), "a vertex must have 1 to ", most_shares,
            " nodes, but vertex ", v, " has ", count);
    double sum = 0;
    for (std::int32_t k = first[v]; k < first[v + 1]; ++k) {
      const NodeShare& s = shares[k];
      require(s.node >= 0 && s.node < nodes(), "vertex ", v, " depends on node ", s.node, ", but there are ", nodes());
      sum += s.weight;
    }
    require(std::abs(sum - 1) <= weight_tolerance, "the weights of a vertex must have the sum 1, but those of vertex ", v,
            " have ", sum);
  }
  first_.assign(first.begin(), first.end());
  shares_.assign(shares.begin(), shares.end());
  connect();
}

void ContactNodes::connect() {
  plain_ = vertices() == nodes();
  for (std::int32_t v = 0; plain_ && v < vertices(); ++v) plain_ = shares(v).size() == 1 && shares(v)[0].node == v;
  numerics::list_by_rows(nodes(), user_first_, users_, [&](auto&& add) {
    for (std::int32_t v = 0; v < vertices(); ++v) {
      const auto own = shares(v);
      for (auto s = own.begin(); s != own.end(); ++s)
        if (std::none_of(own.begin(), s, [&](const NodeShare& before) { return before.node == s->node; })) add(s->node, v);
    }
  });
}

void ContactNodes::set_inverse_masses(std::span<const double> inverse_masses) {
  require(inverse_masses_.empty() || inverse_masses.size() == inverse_masses_.size(), "there are ", inverse_masses_.size(),
          " nodes, but ", inverse_masses.size(), " inverse masses");
  for (std::size_t i = 0; i < inverse_masses.size(); ++i)
    require(std::isfinite(inverse_masses[i]) && inverse_masses[i] >= 0,
            "inverse masses must be finite and not negative, but that of node ", i, " is ", inverse_masses[i]);
  inverse_masses_.assign(inverse_masses.begin(), inverse_masses.end());
}

void ContactNodes::set_guided(std::span<const GuidedNode> guided) {
  for (std::size_t k = 0; k < guided.size(); ++k)
    require(guided[k].node >= 0 && guided[k].node < nodes(), "guided node ", guided[k].node, " does not exist: there are ",
            nodes());
  for (const GuidedNode& g : guided_) guide_[g.node] = -1;
  guided_.assign(guided.begin(), guided.end());
  if (!guided.empty()) guide_.resize(inverse_masses_.size(), -1);
  for (std::size_t k = 0; k < guided_.size(); ++k) guide_[guided_[k].node] = static_cast<std::int32_t>(k);
}

void ContactNodes::set_rigid(std::span<const RigidNodes> bodies, std::span<const std::int32_t> held_nodes) {
  std::vector<std::int32_t> of(bodies.empty() ? 0 : inverse_masses_.size(), -1);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    for (const std::int32_t node : bodies[b].nodes) {
      require(node >= 0 && node < nodes(), "node ", node, " of rigid body ", b, " does not exist: there are ", nodes());
      require(inverse_mass(node) > 0, "node ", node, " of rigid body ", b, " does not yield");
      require(of[node] < 0, "node ", node, " is in rigid body ", b, " and in another place before it");
      of[node] = static_cast<std::int32_t>(b);
    }
    for (const std::int32_t node : bodies[b].nodes)
      for (const std::int32_t v : vertices_of(node)) {
        const std::span<const NodeShare> own = shares(v);
        const bool all = own.size() == 4 && std::ranges::all_of(own, [&](const NodeShare& s) {
                           return std::ranges::find(bodies[b].nodes, s.node) != bodies[b].nodes.end();
                         });
        require(all, "vertex ", v, " must have shares of all four nodes of rigid body ", b, " and of no other");
      }
  }
  if (!bodies.empty())
    for (const std::int32_t node : held_nodes) {
      require(node >= 0 && node < nodes(), "held node ", node, " does not exist: there are ", nodes());
      require(inverse_mass(node) == 0, "held node ", node, " yields");
      of[node] = held;
    }
  rigid_.assign(bodies.begin(), bodies.end());
  rigid_of_ = std::move(of);
}

void ContactNodes::set_coupled(std::vector<CoupledNodes> bodies) {
  std::int32_t free = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const CoupledNodes& body = bodies[b];
    require(body.first >= free && body.count > 0 && body.first <= nodes() - body.count,
            "the nodes of bodies must exist and follow each other, but those of body ", b, " begin at ", body.first);
    free = body.first + body.count;
    require(body.has(body.lead) && inverse_mass(body.lead) > 0, "node ", body.lead, " leads body ", b,
            " and must be one of its nodes that yield");
    require(body.coordinates > 0 && body.coordinates <= CoupledNodes::most, "a body in contact must have at most ",
            CoupledNodes::most, " coordinates, but body ", b, " has ", body.coordinates);
    require(static_cast<Index>(body.response.size()) == 3 * body.count * body.coordinates, "body ", b,
            " must have three rows of its coordinates for each node");
    for (std::int32_t node = body.first; node < free; ++node)
      for (const std::int32_t v : vertices_of(node)) {
        const std::span<const NodeShare> own = shares(v);
        const bool within = std::ranges::all_of(own, [&](const NodeShare& s) { return body.has(s.node); });
        const bool led = std::ranges::any_of(own, [&](const NodeShare& s) { return s.node == body.lead; });
        require(within && led, "vertex ", v, " must have a share of the lead of body ", b, " and of its nodes alone");
      }
  }
  coupled_ = std::move(bodies);
}

void ContactNodes::at_vertices(std::span<const mesh::Point> of_nodes, std::span<mesh::Point> out) const {
  require(of_nodes.size() == inverse_masses_.size() && static_cast<Index>(out.size()) == vertices(), "there are ", nodes(),
          " nodes and ", vertices(), " vertices, not ", of_nodes.size(), " and ", out.size());
  parallel_for(0, vertices(), share_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) out[v] = at_vertex(static_cast<std::int32_t>(v), of_nodes);
  });
}

Index ContactNodes::nbytes() const {
  std::size_t responses = 0;
  for (const CoupledNodes& body : coupled_) responses += body.response.capacity() * sizeof(double);
  return static_cast<Index>(inverse_masses_.capacity() * sizeof(double) +
                            (first_.capacity() + user_first_.capacity() + users_.capacity() + guide_.capacity()) *
                                sizeof(std::int32_t) +
                            shares_.capacity() * sizeof(NodeShare) + guided_.capacity() * sizeof(GuidedNode) +
                            rigid_.capacity() * sizeof(RigidNodes) + rigid_of_.capacity() * sizeof(std::int32_t) + responses);
}

}  // namespace meniscus::collision
