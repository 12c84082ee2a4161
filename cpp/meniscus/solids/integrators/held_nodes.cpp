#include "meniscus/solids/integrators/held_nodes.hpp"

#include "meniscus/core/error.hpp"

#include <bit>
#include <cmath>

namespace meniscus::solids {
namespace {

/// What is left of a normal beside directions that are held already must be longer, for a new direction.
constexpr double new_direction = 1e-6;

/// Memory for at least n values, in sizes that repeat as the number of contacts changes.
template <class T>
Workspace::Lease<T> take(Workspace& workspace, std::size_t n) {
  return workspace.take<T>(static_cast<Index>(std::bit_ceil(std::max<std::size_t>(n, 64))));
}

/// Projection onto the part of `free` that these normals span.
Eigen::Matrix3d span_of(std::span<const ContactNormal> normals, const Eigen::Matrix3d& free) {
  std::array<mesh::Point, 3> e;
  std::size_t found = 0;
  for (const ContactNormal& c : normals) {
    if (found == 3) break;
    mesh::Point rest = free * c.normal;
    // Twice, so that what is left is orthogonal to the last bits.
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t k = 0; k < found; ++k) rest -= e[k].dot(rest) * e[k];
    if (const double length = rest.norm(); length > new_direction) e[found++] = rest / length;
  }
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  for (std::size_t k = 0; k < found; ++k) sum += e[k] * e[k].transpose();
  return sum;
}

/// What is left of `free` without `across`; exactly nothing where that is everything.
Eigen::Matrix3d remaining(const Eigen::Matrix3d& free, const Eigen::Matrix3d& across) {
  const Eigen::Matrix3d rest = free - across;
  return rest.trace() < 0.5 ? Eigen::Matrix3d(Eigen::Matrix3d::Zero()) : rest;
}

}  // namespace

HeldNodes::HeldNodes(std::span<const BodyInStep> bodies, Index nodes, Workspace& workspace)
    : bodies_(bodies), count_(nodes), workspace_(&workspace) {
  set_contacts({});
}

void HeldNodes::set_contacts(std::span<const ContactNormal> contacts) {
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    const ContactNormal& c = contacts[k];
    require(c.node >= 0 && c.node < count_, "contact ", k, " is of node ", c.node, ", but there are ", count_);
    require(k == 0 || contacts[k - 1].node <= c.node, "the nodes of contacts must ascend, but contact ", k, " does not");
    require(std::abs(c.normal.squaredNorm() - 1) < 1e-9, "normals of contacts must have length 1, but that of node ", c.node,
            " has ", c.normal.norm());
  }
  if (bodies_.size() > 1 || !contacts.empty()) {
    join(contacts);
    return;
  }
  const Constraints& c = bodies_[0].body->constraints();
  kinds_ = c.kinds();
  nodes_ = c.constrained();
  projections_ = c.projections();
  touching_ = {};
  across_ = {};
}

void HeldNodes::join(std::span<const ContactNormal> contacts) {
  std::size_t lasting = 0;
  for (const BodyInStep& b : bodies_) lasting += b.body->constraints().constrained().size();
  if (!kind_memory_) kind_memory_ = workspace_->take<ConstraintKind>(count_);
  const std::size_t most = lasting + contacts.size();
  node_memory_ = take<std::int32_t>(*workspace_, most);
  projection_memory_ = take<Eigen::Matrix3d>(*workspace_, most);
  touching_memory_ = take<std::int32_t>(*workspace_, contacts.size());
  across_memory_ = take<Eigen::Matrix3d>(*workspace_, contacts.size());
  std::size_t held = 0, touching = 0, next = 0;
  const auto hold = [&](std::int32_t node, const Eigen::Matrix3d& projection) {
    node_memory_.data()[held] = node;
    projection_memory_.data()[held++] = projection;
  };
  // The next node in contact, which was free within the projection.
  const auto touch = [&](const Eigen::Matrix3d& free) {
    const std::int32_t node = contacts[next].node;
    std::size_t end = next + 1;
    while (end < contacts.size() && contacts[end].node == node) ++end;
    const Eigen::Matrix3d across = span_of(contacts.subspan(next, end - next), free);
    next = end;
    touching_memory_.data()[touching] = node;
    across_memory_.data()[touching++] = across;
    hold(node, remaining(free, across));
  };
  for (const BodyInStep& b : bodies_) {
    const Constraints& c = b.body->constraints();
    std::copy(c.kinds().begin(), c.kinds().end(), kind_memory_.data() + b.first);
    const auto free_until = [&](Index node) {
      while (next < contacts.size() && contacts[next].node < node) {
        const Index at = contacts[next].node;
        // Nodes of infinite mass keep their velocity.
        if (std::isinf(b.body->masses()[at - static_cast<std::size_t>(b.first)])) {
          ++next;
          continue;
        }
        kind_memory_.data()[at] = ConstraintKind::sliding;
        touch(Eigen::Matrix3d::Identity());
      }
    };
    for (std::size_t k = 0; k < c.constrained().size(); ++k) {
      const Index node = c.constrained()[k] + b.first;
      free_until(node);
      if (next < contacts.size() && contacts[next].node == node && c.kind(c.constrained()[k]) == ConstraintKind::sliding) {
        touch(c.projections()[k]);
        continue;
      }
      while (next < contacts.size() && contacts[next].node == node) ++next;
      hold(static_cast<std::int32_t>(node), c.projections()[k]);
    }
    free_until(b.first + b.size());
  }
  kinds_ = {kind_memory_.data(), static_cast<std::size_t>(count_)};
  nodes_ = {node_memory_.data(), held};
  projections_ = {projection_memory_.data(), held};
  touching_ = {touching_memory_.data(), touching};
  across_ = {across_memory_.data(), touching};
}

void HeldNodes::project(Points v) const {
  nodes::each(static_cast<Index>(nodes_.size()), [&](std::size_t k) {
    mesh::Point& p = v[nodes_[k]];
    p = (projections_[k] * p).eval();
  });
}

void HeldNodes::project_lasting(Points v) const {
  for (const BodyInStep& b : bodies_) b.body->constraints().project(b.of(v));
}

}  // namespace meniscus::solids
