#include "meniscus/solids/contact/row_friction.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// As good as sticking.
constexpr double largest_drag = 1e12;

mesh::Point flat(const mesh::Point& v, const mesh::Point& normal) { return v - v.dot(normal) * normal; }

/// The rows of a group of nodes on a solid, together.
struct GroupOnSolid {
  mesh::Point needed = mesh::Point::Zero();  // N s, along the solid
  mesh::Point way = mesh::Point::Zero();     // kg m/s
  double available = 0;                      // N s
  double mass = 0;                           // of the nodes on the solid, kg
  bool sticks = false;                       // whether a row does
};

/// What a row learns from it.
struct RowOfGroup {
  /// Whether nothing is bound to the node.
  bool single = false;
  /// Whether friction needs more than it has, and the speed that all then have, m/s.
  bool over = false;
  double speed = 0;
  /// Whether no row sticks, and all slide on by the same law; the speed that this comes to, relative to that of the solve.
  bool slides = false;
  double pace = 1;
  /// r.
  double response = 0;
};

std::vector<RowOfGroup> look_together(const NodeRows& rows, const NodeGroups& groups, const FrictionRules& rules,
                                      ConstPoints solved, ConstPoints loose, std::span<const double> allowed) {
  using Key = std::pair<std::int32_t, std::int32_t>;
  const std::size_t n = rows.size();
  std::vector<std::pair<Key, std::size_t>> order(n);
  for (std::size_t k = 0; k < n; ++k) order[k] = {{groups.numbers[rows.nodes[k]], rows.solids[k]}, k};
  std::sort(order.begin(), order.end());
  std::vector<RowOfGroup> found(n);
  for (std::size_t first = 0, last = 0; first < n; first = last) {
    GroupOnSolid sum;
    for (last = first; last < n && order[last].first == order[first].first; ++last) {
      const std::size_t k = order[last].second;
      const std::int32_t i = rows.nodes[k];
      const mesh::Point way = flat(solved[i] - rows.velocities[k], rows.normals[k]);
      mesh::Point held = mesh::Point::Zero();
      sum.sticks = sum.sticks || rows.holds.sticking[k];
      if (rows.holds.sticking[k]) held = flat(solved[i] - loose[i], rows.normals[k]);
      held -= rows.holds.drag[k] * way;
      const double m = groups.masses[i];
      sum.needed += m * held;
      sum.way += m * way;
      sum.available += m * allowed[k];
      sum.mass += m;
    }
    const std::int32_t group = order[first].first.first;
    const double total = groups.totals[group], lacks = sum.needed.norm() - sum.available;
    RowOfGroup own;
    own.single = groups.single[group] != 0;
    if (!own.single && sum.mass > 0) {
      const mesh::Point mean = sum.way / sum.mass;
      const double speed = mean.norm(), beyond = (sum.needed - total * mean).norm() - sum.available;
      own.slides = !sum.sticks && speed > 0 && beyond > 0;
      if (own.slides) own.pace = beyond / (total * speed);
      own.over = !own.slides && lacks > 0;
      own.speed = std::max(lacks / total, 0.0) + speed;
      own.response = rules.response * total / sum.mass;
    }
    for (std::size_t k = first; k < last; ++k) found[order[k].second] = own;
  }
  return found;
}

/// What the next solve does about a row.
struct Verdict {
  bool breaks_law = false, sticks = false;
  double speed = 0, drag = 0;
};

/// `allowed`: mu N.
Verdict judge(const NodeRows& rows, std::size_t k, const RowOfGroup& group, const FrictionRules& rules, double allowed,
              const mesh::Point& solved, const mesh::Point& loose, const mesh::Point& end) {
  const mesh::Point &normal = rows.normals[k], &solid = rows.velocities[k];
  const mesh::Point way = flat(solved - solid, normal);
  Verdict v;
  v.speed = way.norm();
  if (rows.shared(k)) return v;
  if (group.single) {
    const mesh::Point at_end = end - solid;
    const double into = rows.friction[k] * std::max(-at_end.dot(normal), 0.0);
    v.sticks = into > 0 && flat(at_end, normal).norm() <= into;
    return v;
  }
  const bool stuck = rows.holds.sticking[k] != 0;
  const mesh::Point force = stuck ? flat(solved - loose, normal) : mesh::Point(-rows.holds.drag[k] * way);
  const double size = (force - group.response * way).norm();
  v.sticks = !group.over && allowed > 0 && size <= (1 + rules.slack) * allowed;
  if (group.over)
    v.drag = group.speed > 0 ? allowed / group.speed : 0.0;
  else if (group.slides && !v.sticks)
    v.drag = v.speed > 0 ? allowed / (group.pace * v.speed) : 0.0;
  else if (!v.sticks && size > allowed)
    v.drag = group.response * allowed / (size - allowed);
  v.drag = std::min(v.drag, largest_drag);
  // On nodes that stand on surfaces, friction of these acts after the solve, too: the force of the solve is not all of it.
  v.breaks_law = rows.solids[k] != mesh_solid &&
                 (v.sticks != stuck || (!v.sticks && std::abs(force.norm() - allowed) > rules.tolerance * allowed));
  return v;
}

/// The speed in the next step relative to that in this one.
double change_of_speed(double speed, double before, double least) {
  if (!(speed > 0) || std::isnan(before)) return 1;
  return std::max(2 - before / speed, least);
}

}  // namespace

void begin_friction(NodeRows& rows, double fall, ConstPoints v, bool sticks) {
  rows.fall = fall;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const mesh::Point& solid = rows.velocities[k];
    const bool rests = flat(v[rows.nodes[k]] - solid, rows.normals[k]).norm() <= 1e-12 * (1e-3 + solid.norm());
    rows.holds.sticking[k] = sticks && !rows.shared(k) && (rows.holds.sticking[k] || rests);
  }
  rows.complete();
}

bool judge_friction(NodeRows& rows, const NodeGroups& groups, const FrictionRules& rules, ConstPoints solved, ConstPoints loose,
                    ConstPoints end) {
  const std::size_t n = rows.size();
  std::vector<double> allowed(n);
  nodes::each(static_cast<Index>(n), [&](std::size_t k) {
    const std::int32_t i = rows.nodes[k];
    const double pressed = (solved[i] - loose[i]).dot(rows.normals[k]);
    rows.pulled[k] = !(pressed > 0);
    allowed[k] = rows.friction[k] * std::max(pressed, 0.0);
  });
  const std::vector<RowOfGroup> together = look_together(rows, groups, rules, solved, loose, allowed);
  const Index wrong = nodes::sum(static_cast<Index>(n), Index{0}, [&](std::size_t k) {
    const std::int32_t i = rows.nodes[k];
    const Verdict v = judge(rows, k, together[k], rules, allowed[k], solved[i], loose[i], end[i]);
    rows.speed[k] = v.speed;
    rows.next.sticking[k] = rows.following.sticking[k] = v.sticks;
    rows.next.drag[k] = rows.following.drag[k] = v.drag;
    if (rows.holds.drag[k] > 0) rows.following.drag[k] /= change_of_speed(v.speed, rows.before[k], rules.least_speed);
    return Index{v.breaks_law};
  });
  return static_cast<double>(wrong) > rules.few * static_cast<double>(n);
}

void finish_friction(const NodeRows& rows, Points v) {
  if (rows.empty()) return;
  std::vector<double> friction(rows.friction);
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows.holds.drag[k] > 0) friction[k] = 0;
  apply_contacts({rows.nodes, rows.normals, rows.velocities, friction}, v);
  nodes::each(static_cast<Index>(rows.size()), [&](std::size_t k) {
    if (!rows.holds.sticking[k] || rows.shared(k)) return;
    mesh::Point& own = v[rows.nodes[k]];
    own = rows.velocities[k] + (own - rows.velocities[k]).dot(rows.normals[k]) * rows.normals[k];
  });
}

}  // namespace meniscus::solids
