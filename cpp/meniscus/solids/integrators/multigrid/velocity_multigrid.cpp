#include "meniscus/solids/integrators/multigrid/velocity_multigrid.hpp"

#include "meniscus/core/simd.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <cmath>
#include <cstring>

namespace meniscus::solids {
namespace {

constexpr Index finest_piece = 1024, coarse_piece = 256;
constexpr std::int32_t unheld = -1, immovable = -2;

MENISCUS_INLINE Single rounded(const mesh::Point& p) {
  return Single{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]), 0.0F};
}

MENISCUS_INLINE mesh::Point exact(const Single& s) { return {double{s[0]}, double{s[1]}, double{s[2]}}; }

std::array<Single, 3> rounded(const Block3& m) {
  return {rounded(mesh::Point(m.col(0))), rounded(mesh::Point(m.col(1))), rounded(mesh::Point(m.col(2)))};
}

MENISCUS_INLINE Single times(const std::array<Single, 3>& m, const Single& v) { return m[0] * v[0] + m[1] * v[1] + m[2] * v[2]; }

/// What a spring does; the last number is of no meaning.
MENISCUS_INLINE Single pull(const Single& spring, const Single& v) {
  const Single p = spring * v;
  return spring * (p[0] + p[1] + p[2]) + spring[3] * v;
}

/// Symmetric inverse within a projection; of a block that is not definite, eigenvalues without their signs serve.
Block3 inverse_within(const Block3& a, const Block3& p) {
  const Block3 whole = p * a * p + (Block3::Identity() - p);
  const Eigen::LLT<Block3> factor(whole);
  Block3 inverse = Block3::Identity();
  if (factor.info() == Eigen::Success) inverse = factor.solve(Block3::Identity());
  if (!inverse.allFinite()) inverse.setIdentity();
  return p * (0.5 * (inverse + inverse.transpose())) * p;
}

}  // namespace

VelocityMultigrid::VelocityMultigrid(const BodyStep& step) : step_(step) {
  Workspace& workspace = step.workspace();
  const Index n = step.size();
  step.each_force([&](const Force& force, const BodyInStep&) { pairs_ += static_cast<Index>(force.coupled().size()); });
  if (pairs_ == 0) return;
  held_ = workspace.take<std::int32_t>(n);
  root_ = workspace.take<double>(n);
  coupling_ = workspace.take<Coupling>(pairs_);
  Level& finest = levels_[0];
  finest.rows = SweepRows(workspace, n, 2 * pairs_, finest_piece);
  const std::span<Index> start = finest.rows.start();
  std::fill(start.begin(), start.end(), 0);
  // Number of entries two places on; then start[i + 1] is where the next entry of node i goes, and last, where those of the next
  // node begin.
  step.each_force([&](const Force& force, const BodyInStep& b) {
    for (const auto& pair : force.coupled())
      for (const std::int32_t own : pair) {
        const std::size_t at = b.node(own) + 2;
        if (at < start.size()) ++start[at];
      }
  });
  for (std::size_t i = 2; i < start.size(); ++i) start[i] += start[i - 1];
  std::int32_t next = 0;
  step.each_force([&](const Force& force, const BodyInStep& b) {
    for (const auto& pair : force.coupled()) {
      const std::array<std::size_t, 2> node{b.node(pair[0]), b.node(pair[1])};
      for (std::size_t k = 0; k < 2; ++k) {
        const Index at = start[node[k] + 1]++;
        finest.rows.columns()[at] = static_cast<std::int32_t>(node[1 - k]);
        finest.rows.sources()[at] = next;
      }
      ++next;
    }
  });
  finest.rows.order(workspace);
  finest.spring = workspace.take<Single>(2 * pairs_);
  finest.diagonal = workspace.take<Block3>(n);
  finest.inverse = workspace.take<Block>(n);
  finest.x = workspace.take<Single>(n);
  depth_ = 1;
  while (depth_ < levels_.size() && coarsen(depth_ - 1)) ++depth_;
}

bool VelocityMultigrid::coarsen(std::size_t level) {
  Workspace& workspace = step_.workspace();
  Level &fine = levels_[level], &coarse = levels_[level + 1];
  const Index n = fine.rows.size();
  if (fine.rows.entries() == 0) return false;
  fine.label = workspace.take<std::int32_t>(n);
  fine.groups = fine.rows.aggregate({fine.label.data(), static_cast<std::size_t>(n)});
  if (fine.groups == 0) return false;
  find_members(fine);
  join_rows(fine, coarse);
  coarse.block = workspace.take<Block>(coarse.rows.entries());
  coarse.diagonal = workspace.take<Block3>(fine.groups);
  coarse.rounded_diagonal = workspace.take<Block>(fine.groups);
  coarse.inverse = workspace.take<Block>(fine.groups);
  coarse.b = workspace.take<Single>(fine.groups);
  coarse.x = workspace.take<Single>(fine.groups);
  coarse.y = workspace.take<Single>(fine.groups);
  return true;
}

void VelocityMultigrid::find_members(Level& fine) {
  const Index n = fine.rows.size();
  fine.member_start = step_.workspace().take<Index>(fine.groups + 2);
  fine.member = step_.workspace().take<std::int32_t>(n);
  Index* const start = fine.member_start.data();
  std::fill_n(start, fine.groups + 2, 0);
  for (Index i = 0; i < n; ++i)
    if (const std::int32_t l = fine.label.data()[i]; l >= 0) ++start[l + 2];
  for (Index a = 2; a < fine.groups + 2; ++a) start[a] += start[a - 1];
  for (Index i = 0; i < n; ++i)
    if (const std::int32_t l = fine.label.data()[i]; l >= 0) fine.member.data()[start[l + 1]++] = static_cast<std::int32_t>(i);
}

/// The neighbours of each group, and where the entries of the fine level go.
void VelocityMultigrid::join_rows(Level& fine, Level& coarse) {
  Workspace& workspace = step_.workspace();
  const SweepRows& rows = fine.rows;
  const Index groups = fine.groups;
  fine.slot = workspace.take<std::int32_t>(rows.entries());
  const auto found_memory = workspace.take<std::int32_t>(rows.entries()), count_memory = workspace.take<std::int32_t>(groups);
  const auto room_memory = workspace.take<Index>(groups + 1);
  std::int32_t* const found = found_memory.data();
  std::int32_t* const slot = fine.slot.data();
  Index* const room = room_memory.data();
  const std::int32_t *const label = fine.label.data(), *const member = fine.member.data(), *const column = rows.columns();
  room[0] = 0;
  for (Index a = 0; a < groups; ++a) {
    room[a + 1] = room[a];
    for (Index m = fine.member_start.data()[a]; m < fine.member_start.data()[a + 1]; ++m)
      room[a + 1] += rows.end(member[m]) - rows.first(member[m]);
  }
  parallel_for(0, groups, 64, [&](Index begin, Index end) {
    for (Index a = begin; a < end; ++a) {
      std::int32_t count = 0;
      for (Index m = fine.member_start.data()[a]; m < fine.member_start.data()[a + 1]; ++m)
        for (Index k = rows.first(member[m]); k < rows.end(member[m]); ++k) {
          const std::int32_t other = label[column[k]];
          if (other == a) {
            slot[k] = -1;
            continue;
          }
          std::int32_t place = 0;
          while (place < count && found[room[a] + place] != other) ++place;
          if (place == count) found[room[a] + count++] = other;
          slot[k] = place;
        }
      count_memory.data()[a] = count;
    }
  });
  Index entries = 0;
  for (Index a = 0; a < groups; ++a) entries += count_memory.data()[a];
  coarse.rows = SweepRows(workspace, groups, entries, coarse_piece);
  Index* const start = coarse.rows.start().data();
  start[0] = 0;
  for (Index a = 0; a < groups; ++a) {
    start[a + 1] = start[a] + count_memory.data()[a];
    for (Index k = 0; k < count_memory.data()[a]; ++k) {
      coarse.rows.columns()[start[a] + k] = found[room[a] + k];
      coarse.rows.sources()[start[a] + k] = static_cast<std::int32_t>(start[a] + k);
    }
  }
  coarse.rows.order(workspace);
  const auto moved_memory = workspace.take<std::int32_t>(entries);
  std::int32_t* const moved = moved_memory.data();
  for (Index k = 0; k < entries; ++k) moved[coarse.rows.sources()[k]] = static_cast<std::int32_t>(k);
  nodes::each(rows.size(), [&](std::size_t i) {
    if (label[i] < 0) return;
    for (Index k = rows.first(static_cast<Index>(i)); k < rows.end(static_cast<Index>(i)); ++k)
      if (slot[k] >= 0) slot[k] = moved[start[label[i]] + slot[k]];
  });
}

// --- values --------------------------------------------------------------------------------------------------------------------

double VelocityMultigrid::prepare(double damping, double stiffness, const double* scale) {
  // In units of the smallest mass.
  const double most_scale = nodes::largest(step_.size(), [&](std::size_t i) { return scale[i]; });
  const double units = most_scale * most_scale;
  nodes::each(step_.size(), [&](std::size_t i) { root_.data()[i] = scale[i] > 0 ? most_scale / scale[i] : 0.0; });
  prepare_finest(units * damping, units * stiffness);
  Level& finest = levels_[0];
  const double size = nodes::sum(step_.size(), 0.0, [&](std::size_t i) {
    if (held_.data()[i] == immovable) return 0.0;
    const double own = root_.data()[i] * root_.data()[i];
    const double most = (finest.diagonal.data()[i].diagonal().array() - own).abs().maxCoeff() / units;
    return most * most;
  });
  const auto held = step_.held().projections();
  const auto projection = [&](Index i) { return held[held_.data()[i]]; };
  if (depth_ > 1) {
    add_up(
        finest, levels_[1],
        [&](Index i, Index k) -> Block3 {
          const Single& s = finest.spring.data()[k];
          const mesh::Point w = exact(s);
          Block3 block = -w * w.transpose();
          block.diagonal().array() -= double{s[3]};
          const Index j = finest.rows.columns()[k];
          if (held_.data()[i] != unheld) block = held_.data()[i] >= 0 ? Block3(projection(i) * block) : Block3(Block3::Zero());
          if (held_.data()[j] != unheld) block = held_.data()[j] >= 0 ? Block3(block * projection(j)) : Block3(Block3::Zero());
          return block;
        },
        [&](Index i) -> Block3 {
          const Block3& d = finest.diagonal.data()[i];
          if (held_.data()[i] == unheld) return d;
          return held_.data()[i] >= 0 ? Block3(projection(i) * d * projection(i)) : Block3(Block3::Zero());
        });
  }
  for (std::size_t l = 1; l + 1 < depth_; ++l) {
    const Level& fine = levels_[l];
    add_up(
        fine, levels_[l + 1],
        [&](Index, Index k) {
          const Block& b = fine.block.data()[k];
          Block3 block;
          for (int d = 0; d < 3; ++d) block.col(d) = exact(b[d]);
          return block;
        },
        [&](Index i) { return fine.diagonal.data()[i]; });
  }
  return size;
}

void VelocityMultigrid::prepare_finest(double damping, double stiffness) {
  Level& finest = levels_[0];
  const Index n = step_.size();
  Block3* const diagonal = finest.diagonal.data();
  nodes::each(n, [&](std::size_t i) {
    diagonal[i].setZero();
    held_.data()[i] = root_.data()[i] == 0 ? immovable : unheld;
  });
  const HeldNodes& held = step_.held();
  for (std::size_t k = 0; k < held.nodes().size(); ++k) {
    std::int32_t& at = held_.data()[held.nodes()[k]];
    if (at == unheld) at = held.projections()[k].isZero(0) ? immovable : static_cast<std::int32_t>(k);
  }
  const std::span<Block3> all(diagonal, static_cast<std::size_t>(n));
  Index first = 0;
  bool uncoupled = false;
  step_.each_force([&](const Force& force, const BodyInStep& b) {
    const std::size_t count = force.coupled().size();
    if (count == 0) {
      uncoupled = true;
      force.add_diagonal(stiffness, damping, b.of(all));
      return;
    }
    force.couplings(stiffness, damping, {coupling_.data() + first, count});
    first += static_cast<Index>(count);
  });
  const SweepRows& rows = finest.rows;
  nodes::each(n, [&](std::size_t node) {
    const auto i = static_cast<Index>(node);
    Block3 sum = (root_.data()[i] * root_.data()[i]) * Block3::Identity();
    if (uncoupled) {
      const Block3 other = -diagonal[i];
      if (other.allFinite()) {
        const Eigen::SelfAdjointEigenSolver<Block3> eigen(0.5 * (other + other.transpose()));
        sum += eigen.eigenvectors() * eigen.eigenvalues().cwiseAbs().asDiagonal() * eigen.eigenvectors().transpose();
      }
    }
    for (Index k = rows.first(i); k < rows.end(i); ++k) {
      Single s;
      std::memcpy(&s, coupling_.data() + rows.sources()[k], sizeof(s));
      const mesh::Point w = exact(s);
      if (!std::isfinite(w.squaredNorm() + double{s[3]})) s = Single{};
      finest.spring.data()[k] = s;
      sum.noalias() += exact(s) * exact(s).transpose();
      sum.diagonal().array() += double{s[3]};
    }
    diagonal[i] = sum;
    const std::int32_t at = held_.data()[i];
    if (at == immovable)
      finest.inverse.data()[i] = Block{};
    else
      finest.inverse.data()[i] = rounded(inverse_within(sum, at == unheld ? Block3(Block3::Identity()) : held.projections()[at]));
  });
}

/// The sums over groups of the matrix of the finer level.
template <class Entry, class Diagonal>
void VelocityMultigrid::add_up(const Level& fine, Level& coarse, Entry&& entry, Diagonal&& diagonal) {
  const auto sum_memory = step_.workspace().take<Block3>(coarse.rows.entries());
  Block3* const sums = sum_memory.data();
  parallel_for(0, coarse.rows.size(), 64, [&](Index begin, Index end) {
    for (Index a = begin; a < end; ++a) {
      for (Index k = coarse.rows.first(a); k < coarse.rows.end(a); ++k) sums[k].setZero();
      Block3 d = Block3::Zero();
      for (Index m = fine.member_start.data()[a]; m < fine.member_start.data()[a + 1]; ++m) {
        const Index i = fine.member.data()[m];
        d += diagonal(i);
        for (Index k = fine.rows.first(i); k < fine.rows.end(i); ++k)
          (fine.slot.data()[k] < 0 ? d : sums[fine.slot.data()[k]]) += entry(i, k);
      }
      // What rounding takes from the couplings goes to the diagonal: the sum of a row, the mass, is far smaller than its entries.
      for (Index k = coarse.rows.first(a); k < coarse.rows.end(a); ++k) {
        const Block b = rounded(sums[k]);
        coarse.block.data()[k] = b;
        for (int c = 0; c < 3; ++c) d.col(c) += sums[k].col(c) - exact(b[c]);
      }
      d = (0.5 * (d + d.transpose())).eval();
      // Directions in which no node of the group can move.
      const double most = d.diagonal().maxCoeff();
      const Eigen::LLT<Block3> factor(d);
      const auto pivots = factor.matrixLLT().diagonal().array();
      if (factor.info() != Eigen::Success || !(pivots.square().minCoeff() > 1e-6 * most))
        d.diagonal().array() += most > 0 ? 1e-3 * most : 1.0;
      coarse.diagonal.data()[a] = d;
      coarse.rounded_diagonal.data()[a] = rounded(d);
      coarse.inverse.data()[a] = rounded(inverse_within(d, Block3::Identity()));
    }
  });
}

// --- cycles --------------------------------------------------------------------------------------------------------------------

void VelocityMultigrid::precondition(ConstPoints r, Points z) {
  Level& finest = levels_[0];
  const SweepRows& rows = finest.rows;
  const std::int32_t* const column = rows.columns();
  const Single* const spring = finest.spring.data();
  const Block* const inverse = finest.inverse.data();
  Single* const x = finest.x.data();
  const double* const root = root_.data();
  const auto held = step_.held().projections();
  rows.forward([&](Index i) {
    Single sum = rounded(mesh::Point(root[i] * r[i]));
    for (Index k = rows.first(i); k < rows.split(i); ++k) sum += pull(spring[k], x[column[k]]);
    x[i] = times(inverse[i], sum);
  });
  if (depth_ > 1) {
    Level& coarse = levels_[1];
    parallel_for(0, finest.groups, 128, [&](Index begin, Index end) {
      for (Index a = begin; a < end; ++a) {
        Single sum{};
        for (Index m = finest.member_start.data()[a]; m < finest.member_start.data()[a + 1]; ++m) {
          const Index i = finest.member.data()[m];
          const std::int32_t at = held_.data()[i];
          if (at == immovable) continue;
          Single rest{};
          for (Index k = rows.split(i); k < rows.end(i); ++k) rest += pull(spring[k], x[column[k]]);
          sum += at == unheld ? rest : rounded(mesh::Point(held[at] * exact(rest)));
        }
        coarse.b.data()[a] = sum;
      }
    });
    correct(1);
    nodes::each(rows.size(), [&](std::size_t i) {
      const std::int32_t l = finest.label.data()[i], at = held_.data()[i];
      if (l < 0 || at == immovable) return;
      const Single& move = coarse.x.data()[l];
      Single to = at == unheld ? move : rounded(mesh::Point(held[at] * exact(move)));
      to[3] = 0;
      x[i] += to;
    });
  }
  rows.backward([&](Index i) {
    Single sum = rounded(mesh::Point(root[i] * r[i]));
    for (Index k = rows.first(i); k < rows.end(i); ++k) sum += pull(spring[k], x[column[k]]);
    x[i] = times(inverse[i], sum);
    z[i] = root[i] * exact(x[i]);
  });
  step_.project(z);
}

/// Twice from b to x, so that x is better than that of one cycle.
void VelocityMultigrid::correct(std::size_t l) {
  solve(l);
  if (l + 1 == depth_) return;
  Level& level = levels_[l];
  const SweepRows& rows = level.rows;
  const Single* const x = level.x.data();
  nodes::each(rows.size(), [&](std::size_t node) {
    const auto i = static_cast<Index>(node);
    Single sum = level.b.data()[i] - times(level.rounded_diagonal.data()[i], x[i]);
    for (Index k = rows.first(i); k < rows.end(i); ++k) sum -= times(level.block.data()[k], x[rows.columns()[k]]);
    level.b.data()[i] = sum;
  });
  nodes::each(rows.size(), [&](std::size_t i) { level.y.data()[i] = x[i]; });
  solve(l);
  nodes::each(rows.size(), [&](std::size_t i) { level.x.data()[i] += level.y.data()[i]; });
}

void VelocityMultigrid::solve(std::size_t l) {
  Level& level = levels_[l];
  const SweepRows& rows = level.rows;
  const std::int32_t* const column = rows.columns();
  const Block *const block = level.block.data(), *const inverse = level.inverse.data();
  const Single* const b = level.b.data();
  Single* const x = level.x.data();
  rows.forward([&](Index i) {
    Single sum = b[i];
    for (Index k = rows.first(i); k < rows.split(i); ++k) sum -= times(block[k], x[column[k]]);
    x[i] = times(inverse[i], sum);
  });
  if (rows.entries() == 0) return;
  if (l + 1 < depth_) {
    Level& coarse = levels_[l + 1];
    parallel_for(0, level.groups, 128, [&](Index begin, Index end) {
      for (Index a = begin; a < end; ++a) {
        Single sum{};
        for (Index m = level.member_start.data()[a]; m < level.member_start.data()[a + 1]; ++m) {
          const Index i = level.member.data()[m];
          for (Index k = rows.split(i); k < rows.end(i); ++k) sum -= times(block[k], x[column[k]]);
        }
        coarse.b.data()[a] = sum;
      }
    });
    correct(l + 1);
    nodes::each(rows.size(), [&](std::size_t i) {
      if (const std::int32_t group = level.label.data()[i]; group >= 0) x[i] += coarse.x.data()[group];
    });
  }
  rows.backward([&](Index i) {
    Single sum = b[i];
    for (Index k = rows.first(i); k < rows.end(i); ++k) sum -= times(block[k], x[column[k]]);
    x[i] = times(inverse[i], sum);
  });
}

}  // namespace meniscus::solids
