#include "meniscus/solids/contact/row_solves.hpp"

#include <Eigen/Geometry>

#include <algorithm>

namespace meniscus::solids {
namespace {

/// Two directions along a surface.
std::array<mesh::Point, 2> along(const mesh::Point& normal) {
  Eigen::Index axis = 0;
  normal.cwiseAbs().minCoeff(&axis);
  const mesh::Point first = normal.cross(mesh::Point::Unit(axis)).normalized();
  return {first, normal.cross(first)};
}

/// Directions in which rows hold nodes: normals, and all directions where they stick.
std::vector<ContactNormal> held_directions(const NodeRows& rows) {
  std::vector<ContactNormal> held;
  held.reserve(3 * rows.size());
  for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
    for (last = first; last < rows.size() && rows.nodes[last] == rows.nodes[first]; ++last)
      held.push_back({rows.nodes[last], rows.normals[last]});
    for (std::size_t k = first; k < last; ++k)
      if (rows.holds.sticking[k])
        for (const mesh::Point& way : along(rows.normals[k])) held.push_back({rows.nodes[k], way});
  }
  return held;
}

void set_drags(BodyStep& step, const NodeRows& rows) {
  std::vector<std::int32_t> dragged;
  std::vector<double> drags;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows.holds.drag[k] > 0) {
      dragged.push_back(rows.nodes[k]);
      drags.push_back(rows.holds.drag[k]);
    }
  step.set_drags(dragged, drags);
}

/// Gives the nodes in contact their velocities: along the surface, where they stick, that of the solid. `stopped`: along normals,
/// too.
void hold_rows(const BodyStep& step, const NodeRows& rows, ConstPoints given, bool stopped, Points v) {
  const ScratchPoints memory = step.scratch();
  const Points held = memory;
  nodes::copy(given, held);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::int32_t i = rows.nodes[k];
    const mesh::Point &normal = rows.normals[k], &solid = rows.velocities[k];
    if (rows.holds.sticking[k]) held[i] = solid + (given[i] - solid).dot(normal) * normal;
    if (stopped && !rows.shared(k)) held[i] -= (held[i] - solid).dot(normal) * normal;
  }
  step.hold_contacts(held, v);
}

/// The velocities from which a solve starts, with what drags nodes along with a solid that moves.
ConstPoints dragged_start(const NodeRows& rows, ConstPoints v0, const BodyStep& step, ScratchPoints& memory) {
  const auto moves = [&](std::size_t k) { return rows.holds.drag[k] > 0 && !rows.velocities[k].isZero(0); };
  std::size_t first = 0;
  while (first < rows.size() && !moves(first)) ++first;
  if (first == rows.size()) return v0;
  memory = step.scratch();
  const Points start = memory;
  nodes::copy(v0, start);
  for (std::size_t k = first; k < rows.size(); ++k) {
    if (!moves(k)) continue;
    const std::int32_t i = rows.nodes[k];
    const mesh::Point &normal = rows.normals[k], &solid = rows.velocities[k];
    start[i] = v0[i] + rows.holds.drag[k] * (solid - solid.dot(normal) * normal);
  }
  return start;
}

/// One solve; whether others may follow.
bool solve_once(const RowSolve& s, const NodeRows& rows, ConstPoints x, ConstPoints v0, Points v, Points loose,
                RowSolveReport& report) {
  ScratchPoints memory;
  report.solves.emplace_back();
  bool definite = false;
  solve_velocity(s.step, x, dragged_start(rows, v0, s.step, memory), s.h, s.elastic_dt, s.options, v, report.solves.back(),
                 definite, loose);
  report.used_definite_tangent = report.used_definite_tangent || definite;
  return report.solves.back().converged || !s.stops_unconverged;
}

/// Whether solves of one stage go on: until friction is that of the law, as often as is allowed, and as long as ever fewer rows
/// begin to stick or to slip. Where the set goes to and fro, the next step begins with what this one has found.
class FrictionSearch {
 public:
  explicit FrictionSearch(const RowSolve& solve) : solve_(solve) {}

  bool goes_on(NodeRows& rows, ConstPoints v, ConstPoints loose, ConstPoints end) {
    if (!judge_friction(rows, solve_.groups, solve_.rules, v, loose, end) || taken_++ == solve_.again) return false;
    Index changes = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) changes += rows.next.sticking[k] != rows.holds.sticking[k];
    if (changes > 0 && changes >= last_changes_) return false;
    last_changes_ = changes;
    // In place: arrays of Python may look at them.
    std::copy(rows.next.sticking.begin(), rows.next.sticking.end(), rows.holds.sticking.begin());
    std::copy(rows.next.drag.begin(), rows.next.drag.end(), rows.holds.drag.begin());
    return true;
  }

 private:
  const RowSolve& solve_;
  Index taken_ = 0;
  Index last_changes_ = std::numeric_limits<Index>::max();
};

std::vector<mesh::Point> at_rows(const NodeRows& rows, ConstPoints v) {
  std::vector<mesh::Point> own(rows.size());
  nodes::each(static_cast<Index>(rows.size()), [&](std::size_t k) { own[k] = v[rows.nodes[k]]; });
  return own;
}

}  // namespace

void predict_with_rows(const RowSolve& s, NodeRows& rows, ConstPoints x0, ConstPoints v0, bool rubs, Points v, Points loose,
                       RowSolveReport& report) {
  const ScratchPoints memory = s.step.scratch();
  const Points given = memory;
  nodes::copy(v, given);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::int32_t i = rows.nodes[k];
    given[i] = v[i] + (rows.velocities[k] - v[i]).dot(rows.normals[k]) * rows.normals[k];
  }
  FrictionSearch search(s);
  while (true) {
    s.step.set_contacts(held_directions(rows));
    set_drags(s.step, rows);
    hold_rows(s.step, rows, given, false, v);
    if (!solve_once(s, rows, x0, v0, v, loose, report)) return;
    if (!search.goes_on(rows, v, loose, loose)) break;
  }
  press_only(rows, v, loose);
  finish_friction(rows, loose);
  // Other nodes keep what they have found together: what is stiffly bound to a node would be torn.
  if (rubs)
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (rows.holds.drag[k] == 0 && !rows.holds.sticking[k]) v[rows.nodes[k]] = loose[rows.nodes[k]];
  s.step.set_contacts({});
  s.step.set_drags({}, {});
  s.step.hold_mean_velocities(v);
}

void solve_with_rows(const RowSolve& s, NodeRows& rows, ConstPoints x, ConstPoints v_star, bool backward, bool stopped, Points v,
                     Points loose, RowSolveReport& report) {
  const ScratchPoints memory = s.step.scratch();
  FrictionSearch search(s);
  while (true) {
    s.step.set_contacts(held_directions(rows));
    set_drags(s.step, rows);
    s.step.hold_velocities(backward ? StepTime::end : StepTime::middle, v);
    hold_rows(s.step, rows, v_star, stopped, v);
    if (!solve_once(s, rows, x, v_star, v, loose, report) || rows.empty()) return;
    ConstPoints end = loose;
    if (!backward) {
      const Points twice = memory;
      nodes::each(s.step.size(), [&](std::size_t i) { twice[i] = 2 * loose[i] - v_star[i]; });
      end = twice;
    }
    if (!search.goes_on(rows, v, loose, end)) break;
  }
  press_only(rows, v, loose);
}

bool hold_pushed(BodyStep& step, const NodeRows& rows, ConstPoints predicted, Points v) {
  std::vector<std::int32_t> pushed;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] != predicted[i]) pushed.push_back(static_cast<std::int32_t>(i));
  if (pushed.empty()) return false;
  std::vector<ContactNormal> held = held_directions(rows);
  std::erase_if(held, [&](const ContactNormal& c) { return std::binary_search(pushed.begin(), pushed.end(), c.node); });
  for (const std::int32_t i : pushed)
    for (int axis = 0; axis < 3; ++axis) held.push_back({i, mesh::Point::Unit(axis)});
  std::stable_sort(held.begin(), held.end(), [](const ContactNormal& a, const ContactNormal& b) { return a.node < b.node; });
  step.set_contacts(held);
  const ScratchPoints given = step.scratch();
  nodes::copy(v, given);
  step.hold_contacts(given, v);
  return true;
}

void collide_rows(BodyStep& step, const NodeRows& rows, ConstPoints x0, ConstPoints v0, Points x1, Points v_star) {
  nodes::copy(v0, v_star);
  if (rows.empty()) return;
  apply_contacts(rows, v_star);
  for (const BodyInStep& b : step.bodies()) {
    const Constraints& c = b.body->constraints();
    const ConstPoints from = b.of(x0);
    const Points to = b.of(x1);
    for (const std::int32_t i : c.sliding()) {
      mesh::Point way = to[i] - from[i];
      for (const mesh::Point& across : c.directions(i)) way -= way.dot(across) * across;
      to[i] = from[i] + way;
    }
  }
  step.hold_positions(StepTime::end, x1);
  step.hold_velocities(StepTime::start, v_star);
}

void slide_rows(BodyStep& step, NodeRows& rows, const NodeGroups& groups, ConstPoints v0, ConstPoints v_star, Points v1) {
  if (rows.empty()) return;
  // With what repulsion between surfaces had pressed into solids at the end of the step before.
  std::vector<mesh::Point> before = at_rows(rows, v1);
  for (std::size_t k = 0; k < rows.size(); ++k) before[k] -= v_star[rows.nodes[k]] - v0[rows.nodes[k]];
  finish_friction(rows, v1);
  step.hold_velocities(StepTime::end, v1);
  add_impulses(rows, before, v1, groups.inverse_masses);
}

void press_rows(BodyStep& step, NodeRows& rows, const NodeGroups& groups, Points v1) {
  const std::vector<mesh::Point> before = at_rows(rows, v1);
  apply_solids(rows, v1);
  step.hold_velocities(StepTime::end, v1);
  add_impulses(rows, before, v1, groups.inverse_masses);
}

}  // namespace meniscus::solids
