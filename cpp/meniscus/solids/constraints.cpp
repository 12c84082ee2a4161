#include "meniscus/solids/constraints.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>

namespace meniscus::solids {

void Constraints::check(std::span<const std::int32_t> nodes) const {
  for (const std::int32_t node : nodes)
    require(node >= 0 && node < this->nodes(), "the body has ", this->nodes(), " nodes, so there is no node ", node);
}

void Constraints::set(std::span<const std::int32_t> nodes, ConstraintKind kind) {
  check(nodes);
  for (const std::int32_t node : nodes) {
    kinds_[node] = kind;
    directions_.erase(node);
  }
  rebuild();
}

void Constraints::fix(std::span<const std::int32_t> nodes) { set(nodes, ConstraintKind::fixed); }
void Constraints::move(std::span<const std::int32_t> nodes) { set(nodes, ConstraintKind::moved); }
void Constraints::release(std::span<const std::int32_t> nodes) { set(nodes, ConstraintKind::free); }

void Constraints::slide(std::span<const std::int32_t> nodes, ConstPoints normals) {
  check(nodes);
  require(normals.size() == nodes.size(), "there must be one normal per node, not ", normals.size(), " for ", nodes.size());
  for (std::size_t k = 0; k < nodes.size(); ++k)
    require(normals[k].allFinite() && normals[k].stableNorm() > 0, "the normal of node ", nodes[k],
            " must be finite and not zero");
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    ConstraintKind& kind = kinds_[nodes[k]];
    if (kind == ConstraintKind::fixed || kind == ConstraintKind::moved) continue;
    kind = ConstraintKind::sliding;
    Directions& directions =
        directions_.try_emplace(nodes[k], Directions{mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero()})
            .first->second;
    const mesh::Point unit = normals[k].stableNormalized();
    mesh::Point rest = unit;
    // Twice, so that what is left is orthogonal to the last bits.
    for (int pass = 0; pass < 2; ++pass)
      for (const mesh::Point& n : directions) rest -= n.dot(rest) * n;
    // A direction that is held already, up to what normals of the same plane differ by.
    if (rest.norm() < 1e-9) continue;
    const auto empty = std::find_if(directions.begin(), directions.end(), [](const mesh::Point& n) { return n.isZero(0); });
    if (empty != directions.end()) *empty = empty == directions.begin() ? unit : mesh::Point(rest.normalized());
  }
  rebuild();
}

std::vector<std::int32_t> Constraints::sliding() const {
  std::vector<std::int32_t> nodes;
  for (const auto& [node, directions] : directions_) nodes.push_back(node);
  return nodes;
}

void Constraints::restore_sliding(std::span<const std::int32_t> nodes, std::span<const Directions> directions) {
  check(nodes);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    kinds_[nodes[k]] = ConstraintKind::sliding;
    directions_[nodes[k]] = directions[k];
  }
  rebuild();
}

void Constraints::rebuild() {
  constrained_.clear();
  moved_.clear();
  projections_.clear();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == ConstraintKind::free) continue;
    const auto node = static_cast<std::int32_t>(i);
    constrained_.push_back(node);
    Eigen::Matrix3d p = Eigen::Matrix3d::Zero();
    if (kinds_[i] == ConstraintKind::moved) moved_.push_back(node);
    if (kinds_[i] == ConstraintKind::sliding) {
      const Directions& directions = directions_.at(node);
      // Three directions leave exactly nothing.
      if (directions[2].isZero(0)) {
        p.setIdentity();
        for (const mesh::Point& n : directions) p -= n * n.transpose();
      }
    }
    projections_.push_back(p);
  }
}

void Constraints::project(Points v) const {
  nodes::each(static_cast<Index>(constrained_.size()), [&](std::size_t k) {
    mesh::Point& p = v[constrained_[k]];
    p = (projections_[k] * p).eval();
  });
}

std::size_t Constraints::nbytes() const {
  return kinds_.capacity() * sizeof(ConstraintKind) + (constrained_.capacity() + moved_.capacity()) * sizeof(std::int32_t) +
         projections_.capacity() * sizeof(Eigen::Matrix3d) + directions_.size() * sizeof(Directions);
}

}  // namespace meniscus::solids
