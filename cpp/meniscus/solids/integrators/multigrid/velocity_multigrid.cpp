#include "meniscus/solids/integrators/multigrid/velocity_multigrid.hpp"

namespace meniscus::solids {

VelocityMultigrid::VelocityMultigrid(const BodyStep& step) : step_(step), groups_(GroupHierarchy::of(step)) {
  Workspace& workspace = step.workspace();
  const Index n = step.size(), pairs = groups_->pairs();
  depth_ = groups_->depth();
  if (pairs == 0) return;
  held_ = workspace.take<std::int32_t>(n);
  root_ = workspace.take<double>(n);
  coupling_ = workspace.take<Coupling>(pairs);
  spring_ = workspace.take<Single>(2 * pairs);
  diagonal_ = workspace.take<Block3>(n);
  rest_ = workspace.take<Block3>(n);
  inverse_ = workspace.take<Block>(n);
  x_ = workspace.take<Single>(n);
  for (std::size_t l = 0; l < depth_; ++l) {
    const Index size = groups_->level(l).rows.size();
    Level& level = levels_[l];
    level.offset = workspace.take<Single>(size);
    if (l == 0) continue;
    level.block = workspace.take<WideBlock>(groups_->level(l).rows.entries());
    level.rounded_diagonal = workspace.take<WideBlock>(size);
    level.inverse = workspace.take<WideBlock>(size);
    level.diagonal = workspace.take<WideSum>(size);
    level.common = workspace.take<std::array<numerics::Pack, 3>>(size);
    level.b = workspace.take<Wide>(size);
    level.x = workspace.take<Wide>(size);
    level.y = workspace.take<Wide>(size);
    level.middle = workspace.take<mesh::Point>(size);
  }
}

void VelocityMultigrid::precondition(ConstPoints r, Points z) {
  const GroupHierarchy::Level& finest = groups_->level(0);
  const SweepRows& rows = finest.rows;
  const std::int32_t* const column = rows.columns();
  const Single *const spring = spring_.data(), *const offset = levels_[0].offset.data();
  const Block* const inverse = inverse_.data();
  Single* const x = x_.data();
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
      simd_dispatch([&] {
        for (Index a = begin; a < end; ++a) {
          Wide sum{};
          for (Index m = finest.member_start.data()[a]; m < finest.member_start.data()[a + 1]; ++m) {
            const Index i = finest.member.data()[m];
            const std::int32_t at = held_.data()[i];
            if (at == immovable) continue;
            Single rest{};
            for (Index k = rows.split(i); k < rows.end(i); ++k) rest += pull(spring[k], x[column[k]]);
            sum += wrench_of(at == unheld ? rest : rounded(mesh::Point(held[at] * exact(rest))), offset[i]);
          }
          coarse.b.data()[a] = sum;
        }
      });
    });
    correct(1);
    nodes::each(rows.size(), [&](std::size_t i) {
      const std::int32_t l = finest.label.data()[i], at = held_.data()[i];
      if (l < 0 || at == immovable) return;
      const Single move = velocity_at(coarse.x.data()[l], offset[i]);
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
  const SweepRows& rows = groups_->level(l).rows;
  const Wide* const x = level.x.data();
  parallel_for(0, rows.size(), 256, [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index i = begin; i < end; ++i) {
        Wide sum = level.b.data()[i] - times(level.rounded_diagonal.data()[i], x[i]);
        for (Index k = rows.first(i); k < rows.end(i); ++k) sum -= times(level.block.data()[k], x[rows.columns()[k]]);
        level.b.data()[i] = sum;
        level.y.data()[i] = x[i];
      }
    });
  });
  solve(l);
  nodes::each(rows.size(), [&](std::size_t i) { level.x.data()[i] += level.y.data()[i]; });
}

void VelocityMultigrid::solve(std::size_t l) {
  Level& level = levels_[l];
  const GroupHierarchy::Level& own = groups_->level(l);
  const SweepRows& rows = own.rows;
  const std::int32_t* const column = rows.columns();
  const WideBlock *const block = level.block.data(), *const inverse = level.inverse.data();
  const Wide* const b = level.b.data();
  Wide* const x = level.x.data();
  rows.forward([&](Index i) {
    Wide sum = b[i];
    for (Index k = rows.first(i); k < rows.split(i); ++k) sum -= times(block[k], x[column[k]]);
    x[i] = times(inverse[i], sum);
  });
  if (rows.entries() == 0) return;
  if (l + 1 < depth_) {
    Level& coarse = levels_[l + 1];
    const Single* const offset = level.offset.data();
    parallel_for(0, own.groups, 128, [&](Index begin, Index end) {
      simd_dispatch([&] {
        for (Index a = begin; a < end; ++a) {
          Wide sum{};
          for (Index m = own.member_start.data()[a]; m < own.member_start.data()[a + 1]; ++m) {
            const Index i = own.member.data()[m];
            Wide rest{};
            for (Index k = rows.split(i); k < rows.end(i); ++k) rest -= times(block[k], x[column[k]]);
            sum += moved_wrench(rest, offset[i]);
          }
          coarse.b.data()[a] = sum;
        }
      });
    });
    correct(l + 1);
    nodes::each(rows.size(), [&](std::size_t i) {
      if (const std::int32_t group = own.label.data()[i]; group >= 0) x[i] += motion_at(coarse.x.data()[group], offset[i]);
    });
  }
  rows.backward([&](Index i) {
    Wide sum = b[i];
    for (Index k = rows.first(i); k < rows.end(i); ++k) sum -= times(block[k], x[column[k]]);
    x[i] = times(inverse[i], sum);
  });
}

}  // namespace meniscus::solids
