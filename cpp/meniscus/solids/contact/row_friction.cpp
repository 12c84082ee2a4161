#include "meniscus/solids/contact/row_friction.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

mesh::Point flat(const mesh::Point& v, const mesh::Point& normal) { return v - v.dot(normal) * normal; }

double clamped(double x, double low, double high) { return std::min(std::max(x, low), high); }

/// The rows of a group of nodes on a solid, together.
struct GroupOnSolid {
  mesh::Point needed = mesh::Point::Zero();  // N s, along the solid
  mesh::Point way = mesh::Point::Zero();     // kg m/s
  double available = 0;                      // N s
  double mass = 0;                           // of the nodes on the solid, kg
  bool dragged = false;
};

/// What a row learns from it.
struct RowOfGroup {
  /// Whether friction needs more than it has, and the speed that the group then has, m/s.
  bool over = false;
  double whole = 0;
  /// Mean speed with which its contacts slide, m/s; 0 for single nodes.
  double sliding = 0;
  /// Whether much stands on these nodes, and whether some of them slip against a drag already, too.
  bool bound = false, goes_on = false;
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
      if (rows.holds.sticking[k]) held = flat(solved[i] - loose[i], rows.normals[k]);
      held -= rows.holds.drag[k] * way;
      const double m = groups.masses[i];
      sum.needed += m * held;
      sum.way += m * way;
      sum.available += m * allowed[k];
      sum.mass += m;
      sum.dragged = sum.dragged || rows.holds.drag[k] > 0;
    }
    const std::int32_t group = order[first].first.first;
    const bool several = !groups.single[group];
    const double total = groups.totals[group], lacks = sum.needed.norm() - sum.available;
    RowOfGroup own;
    own.over = several && lacks > 0;
    own.sliding = several ? (sum.way / (sum.mass > 0 ? sum.mass : 1.0)).norm() : 0.0;
    own.whole = std::max(lacks / (total > 0 ? total : 1.0), 0.0) + own.sliding;
    own.bound = several && total > rules.carries * sum.mass;
    own.goes_on = own.bound && sum.dragged;
    for (std::size_t k = first; k < last; ++k) found[order[k].second] = own;
  }
  return found;
}

/// The rules for one row, and what they come to.
class Verdict {
 public:
  Verdict(const NodeRows& rows, const FrictionRules& rules, std::size_t row)
      : rules_(rules),
        fall_(rows.fall),
        slow_(rules.slow * rows.fall),
        normal_(rows.normals[row]),
        velocity_(rows.velocities[row]),
        sticking_(rows.holds.sticking[row] != 0),
        dragged_(rows.holds.drag[row] > 0),
        shared_(rows.shared(row)),
        before_(rows.before[row]) {}

  void find(double friction, double allowed, const RowOfGroup& group, const mesh::Point& solved, const mesh::Point& end) {
    speed = flat(solved - velocity_, normal_).norm();
    const mesh::Point at_end = end - velocity_;
    const double along = flat(at_end, normal_).norm(), into = friction * std::max(-at_end.dot(normal_), 0.0);
    const bool moving = group.sliding > rules_.moving * fall_;
    const bool comes = !sticking_ && !dragged_ && into > 0 && along <= into;
    const bool starts = comes && !shared_ && (moving || group.over);
    sticks = !sticking_ && !shared_ && !group.over && (dragged_ ? speed <= slow_ : comes && !moving);
    slips = sticking_ && (along > into || group.over);
    sticks_next = (sticking_ && !slips) || sticks;
    const double begins = onset(allowed, along, into, group);
    slips = slips || starts;
    const double least = std::max(rules_.least_share * group.sliding, slow_);
    const bool slides = !sticking_ && !shared_ && into > 0 && along > into && group.bound;
    returns = (slides || starts) && group.goes_on && !dragged_;
    const bool drags = (slips || dragged_ || slides) && !sticks && slow_ > 0;
    const auto drag_at = [&](double u) {
      return drags && (slips || group.bound || allowed > rules_.small_drag * u) ? allowed / u : 0.0;
    };
    drag_here = drag_at(slips ? begins : std::max(speed, least));
    drag_following = drag_at(slips ? begins : std::max(further(allowed, solved, end), least));
  }

  bool sticks = false, slips = false, sticks_next = false, returns = false;
  double speed = 0, drag_here = 0, drag_following = 0;

 private:
  /// How fast a node will be that sticks no more. What little is bound to moves as its own mass says; of others nothing is known
  /// but how much friction lacks.
  double onset(double allowed, double along, double into, const RowOfGroup& group) const {
    if (group.over) return std::max(group.whole, slow_);
    if (allowed < fall_) return std::max(clamped(rules_.onset * (along - into), slow_, fall_), group.sliding);
    const double excess = clamped(into > 0 ? along / into : 0.0, 1.0, rules_.most_excess);
    return std::max(slow_ * std::pow(excess, 4), group.sliding);
  }

  /// The speed in the next step. Where nodes are light and stiffly bound, velocities at the end of the step swing about those
  /// that they move with.
  double further(double allowed, const mesh::Point& solved, const mesh::Point& end) const {
    if (allowed < fall_) {
      const double by_step = flat(2 * end - solved - velocity_, normal_).norm();
      return clamped(by_step, speed / rules_.bound_change, rules_.free_change * speed);
    }
    const double by_steps = 2 * speed - (std::isnan(before_) ? speed : before_);
    return clamped(by_steps, speed / rules_.bound_change, rules_.bound_change * speed);
  }

  const FrictionRules& rules_;
  double fall_, slow_;
  const mesh::Point &normal_, &velocity_;
  bool sticking_, dragged_, shared_;
  double before_;
};

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
  const Index changes = nodes::sum(static_cast<Index>(n), Index{0}, [&](std::size_t k) {
    const std::int32_t i = rows.nodes[k];
    Verdict v(rows, rules, k);
    v.find(rows.friction[k], allowed[k], together[k], solved[i], end[i]);
    rows.speed[k] = v.speed;
    rows.returns[k] = v.returns;
    rows.next.sticking[k] = rows.following.sticking[k] = v.sticks_next;
    rows.next.drag[k] = v.drag_here;
    rows.following.drag[k] = v.drag_following;
    return Index{v.sticks || v.slips};
  });
  return static_cast<double>(changes) > rules.few * static_cast<double>(n);
}

void finish_friction(const NodeRows& rows, Points v) {
  if (rows.empty()) return;
  std::vector<double> friction(rows.friction);
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows.holds.drag[k] > 0 || rows.returns[k]) friction[k] = 0;
  apply_contacts({rows.nodes, rows.normals, rows.velocities, friction}, v);
  nodes::each(static_cast<Index>(rows.size()), [&](std::size_t k) {
    if (!rows.holds.sticking[k] || rows.shared(k)) return;
    mesh::Point& own = v[rows.nodes[k]];
    own = rows.velocities[k] + (own - rows.velocities[k]).dot(rows.normals[k]) * rows.normals[k];
  });
}

}  // namespace meniscus::solids
