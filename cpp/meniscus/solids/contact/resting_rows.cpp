#include "meniscus/solids/contact/resting_rows.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meniscus::solids {
namespace {

/// Gaps within which a node rests whatever its velocity, relative to the size of the scene: rounding.
constexpr double rounding = 1e-10;

/// What nodes stand on; gaps are infinite where there is nothing.
struct Ground {
  explicit Ground(std::size_t n)
      : normals(n, mesh::Point::Zero()),
        velocities(n, mesh::Point::Zero()),
        gaps(n, std::numeric_limits<double>::infinity()),
        friction(n, 0.0) {}
  std::vector<mesh::Point> normals, velocities;
  std::vector<double> gaps, friction;
};

/// Of nodes k in contact with solids k: each solid is asked once, for all of its nodes.
Ground ground_under(const Grounds& grounds, std::span<const std::int32_t> of, std::span<const std::int32_t> numbers,
                    ConstPoints x) {
  Ground ground(of.size());
  std::vector<std::vector<std::size_t>> rows(grounds.solids.size());
  const MeshSupports& m = grounds.meshes;
  for (std::size_t k = 0; k < of.size(); ++k) {
    require(of[k] >= 0 && std::cmp_less(of[k], x.size()), "node ", of[k], " does not exist: there are ", x.size());
    if (numbers[k] >= 0 && std::cmp_less(numbers[k], rows.size())) rows[numbers[k]].push_back(k);
    if (numbers[k] != mesh_solid) continue;
    const auto place = std::lower_bound(m.nodes.begin(), m.nodes.end(), of[k]);
    if (place == m.nodes.end() || *place != of[k]) continue;
    const std::size_t row = place - m.nodes.begin();
    ground.normals[k] = m.normals[row];
    ground.velocities[k] = m.velocities[row];
    ground.gaps[k] = m.gaps[row];
    ground.friction[k] = m.friction[row];
  }
  std::vector<mesh::Point> at, normals, velocities;
  std::vector<double> gaps;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const std::size_t n = rows[s].size();
    if (n == 0) continue;
    const SolidObstacle& solid = grounds.solids[s];
    at.resize(n);
    normals.resize(n);
    velocities.assign(n, mesh::Point::Zero());
    gaps.resize(n);
    for (std::size_t k = 0; k < n; ++k) at[k] = x[of[rows[s][k]]];
    solid.ask(at, {gaps, normals, solid.solid->moves() ? std::span(velocities) : std::span<mesh::Point>()});
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t row = rows[s][k];
      ground.normals[row] = normals[k];
      ground.velocities[row] = velocities[k];
      ground.gaps[row] = gaps[k];
      ground.friction[row] = solid.friction;
    }
  }
  return ground;
}

/// A row that several contacts of a node leave to its normals.
void leave_shared_to_normals(NodeRows& rows) {
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows.shared(k)) rows.holds.sticking[k] = 0;
}

/// Rows of nodes that have come to surfaces on given paths, and that velocities do not take away from them.
NodeRows rows_of_meshes(const MeshSupports& meshes, ConstPoints v, double fall) {
  NodeRows rows;
  rows.fall = fall;
  for (std::size_t k = 0; k < meshes.nodes.size(); ++k) {
    const mesh::Point& normal = meshes.normals[k];
    const double away = (v[meshes.nodes[k]] - meshes.velocities[k]).dot(normal);
    if (meshes.gaps[k] <= 0 && away < fall)
      rows.add({meshes.nodes[k], mesh_solid, normal, meshes.velocities[k], meshes.friction[k]});
  }
  rows.complete();
  return rows;
}

}  // namespace

RestingNodes resting_nodes(const NodeRows& rows, double h, ConstPoints x0, ConstPoints x1) {
  RestingNodes held;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows.pulled[k]) continue;
    const std::int32_t i = rows.nodes[k];
    held.keys.push_back({i, rows.solids[k], rows.following.sticking[k]});
    held.drag.push_back(rows.following.drag[k] / h);
    held.way.push_back((x1[i] - x0[i]).norm());
    held.speed.push_back(rows.speed[k]);
  }
  return held;
}

NodeRows rows_at_rest(const Grounds& grounds, const RestingView& resting, ConstPoints x, ConstPoints v, double dt, double h,
                      double fall) {
  const std::size_t n = resting.keys.size();
  std::vector<std::int32_t> of(n), numbers(n);
  for (std::size_t k = 0; k < n; ++k) {
    of[k] = resting.keys[k][0];
    numbers[k] = resting.keys[k][1];
  }
  const Ground ground = ground_under(grounds, of, numbers, x);
  const double size = nodes::largest(static_cast<Index>(x.size()), [&](std::size_t i) { return x[i].cwiseAbs().maxCoeff(); });
  NodeRows rows;
  rows.fall = fall;
  for (std::size_t k = 0; k < n; ++k) {
    const double way = std::max(dt * (v[of[k]] - ground.velocities[k]).norm(), resting.way[k]);
    if (!(ground.gaps[k] <= std::max(way, rounding * size))) continue;
    const mesh::Point down = ground.velocities[k] - (std::max(ground.gaps[k], 0.0) / dt) * ground.normals[k];
    rows.add({of[k], numbers[k], ground.normals[k], down, ground.friction[k], resting.keys[k][2] == 1, h * resting.drag[k],
              resting.speed[k]});
  }
  rows.complete();
  return rows;
}

std::optional<NodeRows> rows_with_met(const NodeRows& met, const NodeRows& known, const NodeGroups& groups,
                                      const FrictionRules& rules, ConstPoints x0, ConstPoints x1, double dt) {
  std::vector<std::int32_t> both(met.nodes);
  both.insert(both.end(), known.nodes.begin(), known.nodes.end());
  const std::vector<std::uint8_t> large = groups.stand_on(both, rules.carries);
  const auto stands = [&](std::int32_t i) { return large[groups.numbers[i]] && groups.solid[groups.numbers[i]]; };
  NodeRows kept;
  kept.fall = known.fall;
  bool changes = false;
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (!known.pulled[k])
      kept.add(known.at(k));
    else
      changes = changes || stands(known.nodes[k]);
  }
  NodeRows begin;
  for (std::size_t k = 0; k < met.size(); ++k) {
    const std::int32_t i = met.nodes[k];
    if (kept.has(i, met.solids[k]) || !stands(i)) continue;
    const mesh::Point way = (x1[i] - x0[i]) / dt - met.velocities[k];
    const mesh::Point across = way.dot(met.normals[k]) * met.normals[k];
    begin.add({i, met.solids[k], met.normals[k], met.velocities[k] + across, met.friction[k]});
  }
  if (begin.empty() && !changes) return {};
  NodeRows rows = joined(kept, begin);
  leave_shared_to_normals(rows);
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows.shared(k)) rows.holds.drag[k] = 0;
  rows.complete();
  return rows;
}

NodeRows rows_with_resting(const NodeRows& met, const NodeRows& known, const Grounds& grounds, ConstPoints x, ConstPoints v) {
  std::vector<std::size_t> old;
  std::vector<std::int32_t> of, numbers;
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (known.pulled[k]) continue;
    old.push_back(k);
    of.push_back(known.nodes[k]);
    numbers.push_back(known.solids[k]);
  }
  NodeRows rows = joined(met, rows_of_meshes(grounds.meshes, v, known.fall));
  rows.fall = known.fall;
  if (old.empty()) return rows;
  const Ground ground = ground_under(grounds, of, numbers, x);
  NodeRows missed;
  for (std::size_t k = 0; k < old.size(); ++k)
    if (!rows.has(of[k], numbers[k]) && std::isfinite(ground.gaps[k]))
      missed.add({of[k], numbers[k], ground.normals[k], ground.velocities[k], ground.friction[k]});
  rows = joined(rows, missed);
  // Those that go on do so as the prediction has left them; those that it has learned of in this step begin.
  for (const std::size_t k : old) {
    if (std::isnan(known.before[k]) || !rows.has(known.nodes[k], known.solids[k])) continue;
    const std::size_t row = rows.find(known.nodes[k], known.solids[k]);
    rows.before[row] = known.before[k];
    rows.holds.sticking[row] = known.next.sticking[k];
    rows.holds.drag[row] = rows.shared(row) ? 0.0 : known.next.drag[k];
  }
  leave_shared_to_normals(rows);
  rows.complete();
  return rows;
}

}  // namespace meniscus::solids
