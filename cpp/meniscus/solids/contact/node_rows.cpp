#include "meniscus/solids/contact/node_rows.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace meniscus::solids {
namespace {

/// Turns that the rows of one node take; between two planes the violation falls by the cosine of their angle each time.
constexpr int most_turns = 16;

/// f(first, last) for the rows of each node, in parallel.
template <class F>
void each_node(std::span<const std::int32_t> row_nodes, F&& f) {
  nodes::each(static_cast<Index>(row_nodes.size()), [&](std::size_t k) {
    if (k > 0 && row_nodes[k - 1] == row_nodes[k]) return;
    std::size_t end = k + 1;
    while (end < row_nodes.size() && row_nodes[end] == row_nodes[k]) ++end;
    f(k, end);
  });
}

void check(std::span<const std::int32_t> row_nodes, std::size_t count) {
  for (std::size_t k = 0; k < row_nodes.size(); ++k) {
    require(row_nodes[k] >= 0 && std::cmp_less(row_nodes[k], count), "contact ", k, " is of node ", row_nodes[k],
            ", but there are ", count);
    require(k == 0 || row_nodes[k - 1] <= row_nodes[k], "the nodes of contacts must ascend, but contact ", k, " does not");
  }
}

/// `counts`: whether a row does.
template <class Counts>
void apply(const NodeRowView& rows, Points v, Counts&& counts) {
  check(rows.nodes, v.size());
  each_node(rows.nodes, [&](std::size_t first, std::size_t last) {
    mesh::Point& own = v[rows.nodes[first]];
    const int turns = last - first > 1 ? most_turns : 1;
    for (int turn = 0; turn < turns; ++turn) {
      const mesh::Point before = own;
      for (std::size_t k = first; k < last; ++k)
        if (counts(k)) own = after_contact(rows.normals[k], rows.velocities[k], rows.friction[k], own);
      if (own == before) break;
    }
  });
}

}  // namespace

void NodeRows::add(const NodeContact& c) {
  nodes.push_back(c.node);
  solids.push_back(c.solid);
  normals.push_back(c.normal);
  velocities.push_back(c.velocity);
  friction.push_back(c.friction);
  holds.sticking.push_back(c.sticking);
  holds.drag.push_back(c.drag);
  before.push_back(c.before);
}

NodeContact NodeRows::at(std::size_t row) const {
  return {nodes[row],      solids[row], normals[row], velocities[row], friction[row], holds.sticking[row] != 0,
          holds.drag[row], before[row]};
}

void NodeRows::complete() {
  next = following = holds;
  speed.assign(size(), 0.0);
  pulled.assign(size(), 0);
  impulses.assign(size(), mesh::Point::Zero());
}

std::size_t NodeRows::find(std::int32_t node, std::int32_t solid) const {
  std::size_t row = std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin();
  while (row < size() && nodes[row] == node && solids[row] < solid) ++row;
  return row;
}

NodeRows joined(const NodeRows& a, const NodeRows& b) {
  NodeRows both;
  both.fall = a.fall;
  const auto key = [](const NodeRows& rows, std::size_t k) { return std::tuple(rows.nodes[k], rows.solids[k]); };
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (j == b.size() || (i < a.size() && key(a, i) < key(b, j)))
      both.add(a.at(i++));
    else
      both.add(b.at(j++));
  }
  both.complete();
  return both;
}

NodeRows of_solids(const NodeRows& rows) {
  NodeRows own;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows.solids[k] != mesh_solid) own.add(rows.at(k));
  own.complete();
  for (std::size_t k = 0, row = 0; k < rows.size(); ++k)
    if (rows.solids[k] != mesh_solid) own.impulses[row++] = rows.impulses[k];
  return own;
}

void apply_contacts(const NodeRowView& rows, Points v) {
  apply(rows, v, [](std::size_t) { return true; });
}

void apply_solids(const NodeRows& rows, Points v) {
  apply(rows, v, [&](std::size_t k) { return rows.solids[k] != mesh_solid; });
}

void press_only(const NodeRowView& rows, ConstPoints solved, Points loose) {
  require(solved.size() == loose.size(), "there must be as many solved velocities as others");
  check(rows.nodes, loose.size());
  each_node(rows.nodes, [&](std::size_t first, std::size_t last) {
    const Index i = rows.nodes[first];
    for (std::size_t k = first; k < last; ++k)
      if (const double more = rows.normals[k].dot(loose[i] - solved[i]); more > 0) loose[i] -= more * rows.normals[k];
  });
}

void add_impulses(NodeRows& rows, ConstPoints before, ConstPoints v, std::span<const double> inverse_masses) {
  std::int32_t known = -1;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::int32_t i = rows.nodes[k];
    if (rows.solids[k] == mesh_solid || i == known) continue;
    known = i;
    if (inverse_masses[i] > 0) rows.impulses[k] += (v[i] - before[k]) / inverse_masses[i];
  }
}

}  // namespace meniscus::solids
