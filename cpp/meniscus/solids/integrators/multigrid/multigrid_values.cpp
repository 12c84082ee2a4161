// Numbers of multigrid: those of springs at nodes, and their sums over groups.
#include "meniscus/solids/integrators/multigrid/velocity_multigrid.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>
#include <cstring>

namespace meniscus::solids {
namespace {

/// Of the mean stiffness of a node: what groups meet where they move nodes as these cannot. Without it, those all of whose nodes
/// are held could move at no cost but rounding.
constexpr double held_stiffness = 1e-3;

/// Velocities at a node of a group that moves as a rigid body: P (I, -[offset]).
using Motion = Eigen::Matrix<double, 3, 6>;
using Matrix63 = Eigen::Matrix<double, 6, 3>;

MENISCUS_INLINE Block3 turned(const mesh::Point& r) {
  Block3 m;
  m << 0, -r[2], r[1], r[2], 0, -r[0], -r[1], r[0], 0;
  return m;
}

MENISCUS_INLINE Motion rigid_motion(const mesh::Point& offset) {
  Motion m;
  m.leftCols<3>().setIdentity();
  m.rightCols<3>() = -turned(offset);
  return m;
}

/// What a spring does as a matrix.
MENISCUS_INLINE Block3 matrix_of(const Single& spring) {
  const mesh::Point w = exact(spring);
  Block3 s = w * w.transpose();
  s.diagonal().array() += double{spring[3]};
  return s;
}

MENISCUS_INLINE void add(const Eigen::Matrix<double, 6, 6>& m, WideSum& sum) {
  for (int c = 0; c < 6; ++c) sum[c] += joined(m.block<3, 1>(0, c), m.block<3, 1>(3, c));
}

/// Sums of what springs between free nodes at offsets ri and rj contribute to the block of their groups, without the sign:
/// (w, ri x w) (w, rj x w)^T + across (I, -[ri])^T (I, -[rj]).
struct SpringSum {
  WideSum along{};
  double across = 0, first[3] = {0, 0, 0}, second[3] = {0, 0, 0}, both[3][3] = {};

  MENISCUS_INLINE void add(const Single& spring, const Single& at, const Single& other) {
    const double w[3] = {spring[0], spring[1], spring[2]}, c = spring[3];
    const double ri[3] = {at[0], at[1], at[2]}, rj[3] = {other[0], other[1], other[2]};
    const double tj[3] = {rj[1] * w[2] - rj[2] * w[1], rj[2] * w[0] - rj[0] * w[2], rj[0] * w[1] - rj[1] * w[0]};
    const numerics::Pack own = {
        w[0], w[1], w[2], ri[1] * w[2] - ri[2] * w[1], ri[2] * w[0] - ri[0] * w[2], ri[0] * w[1] - ri[1] * w[0], 0.0, 0.0};
    for (int k = 0; k < 3; ++k) {
      along[k] += own * w[k];
      along[k + 3] += own * tj[k];
    }
    if (c == 0) return;
    across += c;
    for (int k = 0; k < 3; ++k) {
      first[k] += c * ri[k];
      second[k] += c * rj[k];
      for (int m = 0; m < 3; ++m) both[k][m] += c * ri[k] * rj[m];
    }
  }

  MENISCUS_INLINE void take_from(WideSum& sum) const {
    const double (&u)[3] = first, (&v)[3] = second, (&b)[3][3] = both, dot = b[0][0] + b[1][1] + b[2][2];
    const double part[6][6] = {{across, 0, 0, 0, u[2], -u[1]},
                               {0, across, 0, -u[2], 0, u[0]},
                               {0, 0, across, u[1], -u[0], 0},
                               {0, -v[2], v[1], dot - b[0][0], -b[0][1], -b[0][2]},
                               {v[2], 0, -v[0], -b[1][0], dot - b[1][1], -b[1][2]},
                               {-v[1], v[0], 0, -b[2][0], -b[2][1], dot - b[2][2]}};
    for (int c = 0; c < 6; ++c) {
      numerics::Pack column = along[c];
      for (int r = 0; r < 6; ++r) column[r] += part[c][r];
      sum[c] -= column;
    }
  }
};

}  // namespace

double VelocityMultigrid::prepare(double damping, double stiffness, const double* scale) {
  // In units of the smallest mass.
  const double most_scale = nodes::largest(step_.size(), [&](std::size_t i) { return scale[i]; });
  const double units = most_scale * most_scale;
  nodes::each(step_.size(), [&](std::size_t i) { root_.data()[i] = scale[i] > 0 ? most_scale / scale[i] : 0.0; });
  prepare_finest(units * damping, units * stiffness);
  const double size = nodes::sum(step_.size(), 0.0, [&](std::size_t i) {
    if (held_.data()[i] == immovable) return 0.0;
    const double own = root_.data()[i] * root_.data()[i];
    const double most = (diagonal_.data()[i].diagonal().array() - own).abs().maxCoeff() / units;
    return most * most;
  });
  if (depth_ > 1) {
    place_groups();
    add_up_springs();
    finish(1);
  }
  for (std::size_t l = 1; l + 1 < depth_; ++l) {
    add_up_groups(l);
    finish(l + 1);
  }
  return size;
}

/// Offsets of nodes and groups from the middles of their groups, where forces are linearised, in units of the mean one of nodes.
void VelocityMultigrid::place_groups() {
  const ConstPoints x = step_.linearised_at();
  double unit = 1;
  for (std::size_t l = 0; l + 1 < depth_; ++l) {
    const GroupHierarchy::Level& fine = groups_->level(l);
    const mesh::Point* const at = l == 0 ? x.data() : levels_[l].middle.data();
    mesh::Point* const middle = levels_[l + 1].middle.data();
    const Index* const start = fine.member_start.data();
    const std::int32_t* const member = fine.member.data();
    const double spread = nodes::sum(fine.groups, 0.0, [&](std::size_t a) {
      mesh::Point sum = mesh::Point::Zero();
      for (Index m = start[a]; m < start[a + 1]; ++m) sum += at[member[m]];
      middle[a] = sum / static_cast<double>(start[a + 1] - start[a]);
      double squares = 0;
      for (Index m = start[a]; m < start[a + 1]; ++m) squares += (at[member[m]] - middle[a]).squaredNorm();
      return squares;
    });
    if (l == 0 && spread > 0) unit = std::sqrt(static_cast<double>(fine.rows.size()) / spread);
    nodes::each(fine.rows.size(), [&](std::size_t i) {
      const std::int32_t a = fine.label.data()[i];
      levels_[l].offset.data()[i] = a < 0 ? Single{} : rounded(mesh::Point(unit * (at[i] - middle[a])));
    });
  }
}

void VelocityMultigrid::prepare_finest(double damping, double stiffness) {
  const Index n = step_.size();
  Block3* const diagonal = diagonal_.data();
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
  const SweepRows& rows = groups_->level(0).rows;
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
    rest_.data()[i] = sum;
    // Upper triangle.
    double across = 0, xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0;
    for (Index k = rows.first(i); k < rows.end(i); ++k) {
      Single s;
      std::memcpy(&s, coupling_.data() + rows.sources()[k], sizeof(s));
      const double x = s[0], y = s[1], z = s[2], c = s[3];
      if (!std::isfinite(x * x + y * y + z * z + c)) {
        spring_.data()[k] = Single{};
        continue;
      }
      spring_.data()[k] = s;
      across += c;
      xx += x * x;
      xy += x * y;
      xz += x * z;
      yy += y * y;
      yz += y * z;
      zz += z * z;
    }
    Block3 springs;
    springs << xx + across, xy, xz, xy, yy + across, yz, xz, yz, zz + across;
    sum += springs;
    diagonal[i] = sum;
    const std::int32_t at = held_.data()[i];
    if (at == immovable)
      inverse_.data()[i] = Block{};
    else
      inverse_.data()[i] = rounded(at == unheld ? inverse_of(sum) : inverse_within(sum, held.projections()[at]));
  });
}

/// Sums over groups of nodes.
void VelocityMultigrid::add_up_springs() {
  const GroupHierarchy::Level& fine = groups_->level(0);
  const SweepRows& rows = groups_->level(1).rows;
  const std::int32_t* const column = fine.rows.columns();
  const Single* const offset = levels_[0].offset.data();
  const Single* const spring = spring_.data();
  const auto held = step_.held().projections();
  const std::int32_t* const held_at = held_.data();
  Level& coarse = levels_[1];
  const auto projection = [&](std::int32_t i) {
    return held_at[i] == immovable ? Block3(Block3::Zero()) : Block3(held[held_at[i]]);
  };
  const auto motion_of = [&](std::int32_t i) {
    const Motion m = rigid_motion(exact(offset[i]));
    return held_at[i] == unheld ? m : Motion(projection(i) * m);
  };
  // Of those within a group, each spring once.
  const auto add_parts = [&](Index begin, Index end, const GroupHierarchy::Part* parts, bool once, WideSum& sum) {
    SpringSum springs;
    for (Index p = begin; p < end; ++p) {
      const auto [i, k] = parts[p];
      const std::int32_t j = column[k];
      if (once && j < i) continue;
      if (held_at[i] == unheld && held_at[j] == unheld)
        springs.add(spring[k], offset[i], offset[j]);
      else
        add(-(motion_of(i).transpose() * matrix_of(spring[k]) * motion_of(j)), sum);
    }
    springs.take_from(sum);
  };
  parallel_for(0, rows.size(), 64, [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index a = begin; a < end; ++a) {
        for (Index e = rows.first(a); e < rows.end(a); ++e) {
          if (rows.columns()[e] < a) continue;
          WideSum sum{};
          add_parts(fine.part_start.data()[e], fine.part_start.data()[e + 1], fine.part.data(), false, sum);
          for (int c = 0; c < 6; ++c) coarse.block.data()[e][c] = rounded(sum[c]);
        }
        WideSum sum{};
        Matrix63 common = Matrix63::Zero();
        for (Index m = fine.member_start.data()[a]; m < fine.member_start.data()[a + 1]; ++m) {
          const std::int32_t i = fine.member.data()[m];
          const Block3& diagonal = diagonal_.data()[i];
          if (held_at[i] != unheld) {
            const Block3 stop = (held_stiffness / 3 * diagonal.trace()) * (Block3::Identity() - projection(i));
            const Motion whole = rigid_motion(exact(offset[i]));
            common += whole.transpose() * stop;
            add(whole.transpose() * stop * whole, sum);
          }
          const Motion own = motion_of(i);
          add(own.transpose() * diagonal * own, sum);
          if (held_at[i] == unheld)
            common += own.transpose() * rest_.data()[i];
          else
            common += own.transpose() * rest_.data()[i] * own.leftCols<3>();
          // Springs between free nodes leave common velocities alone.
          for (Index k = fine.rows.first(i); k < fine.rows.end(i); ++k)
            if (const std::int32_t j = column[k]; held_at[i] != unheld || held_at[j] != unheld)
              common += own.transpose() * matrix_of(spring[k]) * (own.leftCols<3>() - motion_of(j).leftCols<3>());
        }
        WideSum inner{};
        add_parts(fine.inner_start.data()[a], fine.inner_start.data()[a + 1], fine.inner.data(), true, inner);
        // The diagonal is made symmetric in the end.
        for (int c = 0; c < 6; ++c) sum[c] += 2.0 * inner[c];
        coarse.diagonal.data()[a] = sum;
        for (int c = 0; c < 3; ++c) coarse.common.data()[a][c] = joined(common.block<3, 1>(0, c), common.block<3, 1>(3, c));
      }
    });
  });
}

/// Sums over groups of groups: a group moves by T = (I, -[offset]; 0, I) times the motion of the one that it is in.
void VelocityMultigrid::add_up_groups(std::size_t l) {
  using Matrix = Eigen::Matrix<double, 6, 6>;
  const GroupHierarchy::Level& fine = groups_->level(l);
  const SweepRows& rows = groups_->level(l + 1).rows;
  const std::int32_t* const column = fine.rows.columns();
  const Single* const offset = levels_[l].offset.data();
  Level &own = levels_[l], &coarse = levels_[l + 1];
  const auto at = [](const auto& columns, int count) {
    Matrix m = Matrix::Zero();
    for (int c = 0; c < count; ++c)
      for (int r = 0; r < 6; ++r) m(r, c) = double{columns[c][r]};
    return m;
  };
  const auto left = [&](std::int32_t i, Matrix& m) { m.bottomRows<3>() += turned(exact(offset[i])) * m.topRows<3>(); };
  const auto right = [&](std::int32_t j, Matrix& m) { m.rightCols<3>() -= m.leftCols<3>() * turned(exact(offset[j])); };
  const auto part = [&](const GroupHierarchy::Part& p) {
    Matrix m = at(own.block.data()[p.entry], 6);
    left(p.row, m);
    right(column[p.entry], m);
    return m;
  };
  parallel_for(0, rows.size(), 16, [&](Index begin, Index end) {
    for (Index a = begin; a < end; ++a) {
      for (Index e = rows.first(a); e < rows.end(a); ++e) {
        if (rows.columns()[e] < a) continue;
        WideSum sum{};
        for (Index p = fine.part_start.data()[e]; p < fine.part_start.data()[e + 1]; ++p) add(part(fine.part.data()[p]), sum);
        for (int c = 0; c < 6; ++c) coarse.block.data()[e][c] = rounded(sum[c]);
      }
      WideSum sum{}, common{};
      for (Index m = fine.member_start.data()[a]; m < fine.member_start.data()[a + 1]; ++m) {
        const std::int32_t i = fine.member.data()[m];
        Matrix diagonal = at(own.diagonal.data()[i], 6), met = at(own.common.data()[i], 3);
        left(i, diagonal);
        right(i, diagonal);
        add(diagonal, sum);
        left(i, met);
        add(met, common);
      }
      for (Index p = fine.inner_start.data()[a]; p < fine.inner_start.data()[a + 1]; ++p) add(part(fine.inner.data()[p]), sum);
      coarse.diagonal.data()[a] = sum;
      for (int c = 0; c < 3; ++c) coarse.common.data()[a][c] = common[c];
    }
  });
}

/// Transposes the blocks that come first in the order of groups into those that come second. Makes up in the diagonal for what
/// rounding takes from the blocks beside it: the sum of a row, the mass, is far smaller than its entries. Then inverts it.
void VelocityMultigrid::finish(std::size_t l) {
  const SweepRows& rows = groups_->level(l).rows;
  const std::int32_t* const mirror = groups_->level(l).mirror.data();
  Level& level = levels_[l];
  nodes::each(rows.size(), [&](std::size_t node) {
    const auto a = static_cast<Index>(node);
    for (Index e = rows.first(a); e < rows.end(a); ++e)
      if (rows.columns()[e] < a)
        for (int c = 0; c < 6; ++c)
          for (int r = 0; r < 6; ++r) level.block.data()[e][c][r] = level.block.data()[mirror[e]][r][c];
  });
  nodes::each(rows.size(), [&](std::size_t node) {
    const auto a = static_cast<Index>(node);
    WideSum& d = level.diagonal.data()[a];
    std::array<numerics::Pack, 3> sum = level.common.data()[a];
    for (Index e = rows.first(a); e < rows.end(a); ++e)
      for (int c = 0; c < 3; ++c) sum[c] -= exact(level.block.data()[e][c]);
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 6; ++r) {
        const double value = r < 3 ? 0.5 * (sum[c][r] + sum[r][c]) : sum[c][r];
        d[c][r] = value;
        d[r][c] = value;
      }
    for (int c = 3; c < 6; ++c)
      for (int r = c + 1; r < 6; ++r) d[c][r] = d[r][c] = 0.5 * (d[c][r] + d[r][c]);
    for (int c = 0; c < 6; ++c) level.rounded_diagonal.data()[a][c] = rounded(d[c]);
    level.inverse.data()[a] = inverse_of(d);
  });
}

}  // namespace meniscus::solids
