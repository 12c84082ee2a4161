#include "meniscus/solids/rigid/contact/joint_trees.hpp"

#include "meniscus/core/parallel.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>

namespace meniscus::solids {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// The rows of a joint as they act on the velocities of one of its bodies; zeros below.
Matrix6 rows_on(const JointRows& rows, std::size_t side) {
  Matrix6 j = Matrix6::Zero();
  const double sign = side == 0 ? 1 : -1;
  for (std::int32_t i = 0; i < rows.count; ++i) {
    const ImpulseRow& r = rows.rows[i];
    j.row(i).head<3>() = sign * r.direction.transpose();
    j.row(i).tail<3>() = sign * r.arm[side].transpose();
  }
  return j;
}

Matrix6 inverted(const Matrix6& m) { return m.ldlt().solve(Matrix6::Identity()); }

}  // namespace

void JointTrees::build(std::span<const Joint> joints, std::span<const std::uint8_t> moves) {
  const auto bodies = static_cast<std::int32_t>(moves.size());
  in_tree_.assign(joints.size(), 0);
  links_.clear();
  trees_.assign(1, 0);
  groups_.begin(bodies + 1);
  first_of_.assign(moves.size() + 1, 0);
  const auto moving = [&](std::int32_t b) { return moves[b] != 0; };
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const auto b = joints[j].bodies;
    const std::int32_t p = moving(b[0]) ? b[0] : bodies, q = moving(b[1]) ? b[1] : bodies;
    if (groups_.root(p) == groups_.root(q)) continue;
    groups_.join(p, q);
    in_tree_[j] = 1;
    for (const std::int32_t body : {p, q})
      if (body != bodies) ++first_of_[static_cast<std::size_t>(body) + 1];
  }
  for (std::size_t b = 0; b < moves.size(); ++b) first_of_[b + 1] += first_of_[b];
  joints_of_.resize(first_of_.back());
  place_.assign(first_of_.begin(), first_of_.end() - 1);
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (in_tree_[j])
      for (const std::int32_t b : joints[j].bodies)
        if (moving(b)) joints_of_[place_[b]++] = static_cast<std::int32_t>(j);
  met_.assign(moves.size(), 0);
  const auto grow = [&](std::int32_t root, std::int32_t joint) {
    links_.emplace_back();
    links_.back().body = root;
    links_.back().joint = joint;
    met_[root] = 1;
    for (std::size_t at = links_.size() - 1; at < links_.size(); ++at) {
      const Index b = links_[at].body;
      for (std::int32_t k = first_of_[b]; k < first_of_[b + 1]; ++k) {
        const std::int32_t j = joints_of_[k];
        const auto& ends = joints[j].bodies;
        const std::int32_t next = ends[0] == links_[at].body ? ends[1] : ends[0];
        if (j == links_[at].joint || !moving(next) || met_[next]) continue;
        met_[next] = 1;
        links_.emplace_back();
        links_.back().body = next;
        links_.back().joint = j;
        links_.back().parent = static_cast<std::int32_t>(at);
      }
    }
    trees_.push_back(links_.size());
  };
  // What hangs on something that does not move; then what flies.
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const auto b = joints[j].bodies;
    if (in_tree_[j] && moving(b[0]) != moving(b[1])) grow(moving(b[0]) ? b[0] : b[1], static_cast<std::int32_t>(j));
  }
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (in_tree_[j] && moving(joints[j].bodies[0]) && !met_[joints[j].bodies[0]]) grow(joints[j].bodies[0], -1);
  for (Link& l : links_)
    if (l.joint >= 0) l.side = joints[l.joint].bodies[0] == l.body ? 0 : 1;
}

void JointTrees::spread(std::span<std::uint8_t> marks) const {
  for (std::size_t t = 0; t + 1 < trees_.size(); ++t) {
    const std::span<const Link> tree(links_.data() + trees_[t], trees_[t + 1] - trees_[t]);
    if (std::ranges::any_of(tree, [&](const Link& l) { return marks[l.body] != 0; }))
      for (const Link& l : tree) marks[l.body] = 1;
  }
}

void JointTrees::factor(std::span<const JointRows> rows, std::span<const WorldInertia> inertias) {
  for (Link& l : links_) {
    const WorldInertia& m = inertias[l.body];
    l.mass.setZero();
    l.mass.topLeftCorner<3, 3>() = 1 / m.inverse_mass * Eigen::Matrix3d::Identity();
    l.mass.bottomRightCorner<3, 3>() = m.inverse_inertia.inverse();
  }
  parallel_for(0, static_cast<Index>(trees_.size()) - 1, 1, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t)
      for (std::size_t i = trees_[static_cast<std::size_t>(t) + 1]; i-- > trees_[t];) {
        Link& l = links_[i];
        l.inverse = inverted(l.mass);
        if (l.joint < 0) continue;
        const JointRows& r = rows[l.joint];
        l.own = rows_on(r, l.side);
        Matrix6 s = l.own * l.inverse * l.own.transpose();
        for (Eigen::Index k = r.count; k < 6; ++k) s(k, k) = 1;
        l.response = inverted(s);
        if (l.parent < 0) continue;
        l.other = rows_on(r, 1 - l.side);
        links_[l.parent].mass += l.other.transpose() * l.response * l.other;
      }
  });
}

void JointTrees::solve_tree(std::size_t first, std::size_t end, std::span<const Joint> joints, std::span<const JointRows> rows,
                            double pull, std::span<RigidVelocity> velocities, std::span<JointMemory> memory) {
  for (std::size_t i = first; i < end; ++i) links_[i].force.setZero();
  for (std::size_t i = end; i-- > first;) {
    Link& l = links_[i];
    if (l.joint < 0) continue;
    const Index j = l.joint;
    const RigidVelocity &a = velocities[joints[j].bodies[0]], &b = velocities[joints[j].bodies[1]];
    l.missing = -(l.own * (l.inverse * l.force));
    for (std::int32_t k = 0; k < rows[j].count; ++k) {
      const Index n = k;
      l.missing[k] -= rows[j].rows[n].velocity(a, b) + (memory.empty() ? pull * rows[j].errors[n] : -rows[j].targets[n]);
    }
    if (l.parent >= 0) links_[l.parent].force += l.other.transpose() * (l.response * l.missing);
  }
  for (std::size_t i = first; i < end; ++i) {
    Link& l = links_[i];
    if (l.joint < 0) {
      l.change = l.inverse * l.force;
      continue;
    }
    if (l.parent >= 0) l.missing -= l.other * links_[l.parent].change;
    const Vector6 impulse = l.response * l.missing;
    l.change = l.inverse * (l.force + l.own.transpose() * impulse);
    const Index j = l.joint;
    const auto b = joints[j].bodies;
    // What does not move is not written, since others may read it.
    RigidVelocity a = velocities[b[0]], c = velocities[b[1]];
    for (std::int32_t k = 0; k < rows[j].count; ++k) {
      rows[j].rows[k].apply(impulse[k], a, c);
      if (!memory.empty()) memory[j].equations[k] += impulse[k];
    }
    velocities[l.body] = l.side == 0 ? a : c;
    if (l.parent >= 0) velocities[b[1 - l.side]] = l.side == 0 ? c : a;
  }
}

void JointTrees::solve(std::span<const Joint> joints, std::span<const JointRows> rows, double pull,
                       std::span<const std::uint8_t> marks, std::span<RigidVelocity> velocities, std::span<JointMemory> memory) {
  parallel_for(0, static_cast<Index>(size()), 1, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t)
      if (marks[links_[trees_[t]].body]) solve_tree(trees_[t], trees_[t + 1], joints, rows, pull, velocities, memory);
  });
}

Index JointTrees::nbytes() const {
  return static_cast<Index>(links_.capacity() * sizeof(Link) + in_tree_.capacity() + met_.capacity() + trees_.capacity() * 8 +
                            (first_of_.capacity() + joints_of_.capacity() + place_.capacity()) * 4) +
         groups_.nbytes();
}

}  // namespace meniscus::solids
