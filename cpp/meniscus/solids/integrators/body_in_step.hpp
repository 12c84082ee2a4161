/// One of the bodies of a step, and scratch vectors over the nodes of all of them.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/solids/deformable_body.hpp"

namespace meniscus::solids {

/// Scratch memory for one vector per node.
class ScratchPoints {
 public:
  ScratchPoints() = default;
  ScratchPoints(Workspace& workspace, Index n) : lease_(workspace.take<mesh::Point>(n)) {}
  operator Points() const { return {lease_.data(), static_cast<std::size_t>(lease_.size())}; }
  operator ConstPoints() const { return {lease_.data(), static_cast<std::size_t>(lease_.size())}; }
  mesh::Point& operator[](std::size_t i) const { return lease_.data()[i]; }

 private:
  Workspace::Lease<mesh::Point> lease_;
};

/// A body, the motion of its moved nodes, and where its nodes are among those of the step.
struct BodyInStep {
  DeformableBody* body = nullptr;
  NodeMotion motion;
  /// Number of its first node; set by `BodyStep`.
  Index first = 0;

  Index size() const { return body->size(); }
  std::size_t node(std::size_t own) const { return own + static_cast<std::size_t>(first); }

  /// The rows of the body in an array over all nodes; an empty one stays so.
  template <class T>
  std::span<T> of(std::span<T> all) const {
    return all.empty() ? all : all.subspan(first, static_cast<std::size_t>(size()));
  }
  Points of(const ScratchPoints& all) const { return of(Points(all)); }
};

}  // namespace meniscus::solids
