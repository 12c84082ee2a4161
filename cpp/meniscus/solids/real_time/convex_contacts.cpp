#include "meniscus/solids/real_time/convex_contacts.hpp"

#include "meniscus/core/threads/phases.hpp"
#include "meniscus/solids/position/position_contacts.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index bodies_per_piece = 4;
/// Rows begin within this multiple of the thickness: what other rows push may come nearer.
constexpr double rows_within = 1.25;

Vector3 place_of_row(const PositionNode<double>& n) { return {n.x, n.y, n.z}; }

}  // namespace

void ConvexContacts::add_row(std::size_t body, std::span<const Slot* const> slots, std::span<const double> weights,
                             const FormPlane& plane, double h, std::span<const Node> start, std::span<const Node> places,
                             double apart) {
  const ConvexMotion& m = motions[body];
  Row& row = rows_[body].emplace_back();
  row.nodes = static_cast<int>(slots.size());
  Vector3 x = Vector3::Zero(), from = x, now = x;
  double friction = 0, inverse = 0;
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const Index v = slots[k]->vertex;
    row.node[k] = slots[k]->vertex;
    row.weight[k] = weights[k];
    x += weights[k] * place_of_row(places[v]);
    from += weights[k] * place_of_row(start[v]);
    now += weights[k] * slots[k]->now;
    friction += weights[k] * surfaces_.friction[v];
    inverse += weights[k] * weights[k] * places[v].w;
  }
  row.friction = std::sqrt(friction * bodies[body].friction);
  row.normal = m.now.rotation * plane.normal;
  row.base = x;
  row.arm = x - m.now.position;
  // The point of the body at x was elsewhere as the substep began.
  row.slip = m.start(now) - from;
  const Vector3 before = m.start.rotation.transpose() * (from - m.start.position);
  const double then = plane.normal.dot(before - plane.point);
  const double overlap = std::clamp(h - then, 0.0, apart), moving = std::min(overlap, PositionContacts::moving_part * apart);
  row.gap = plane.distance - std::min(h, then) - moving;
  row.apart = overlap - moving;
  row.inverse = inverse + m.inverse_mass;
  const Vector3 turn = row.arm.cross(row.normal);
  row.response = row.inverse + turn.dot(m.inverse_inertia * turn);
  row.pressed = 0;
  row.rubbed.setZero();
  if (!(row.response > 0)) rows_[body].pop_back();
}

void ConvexContacts::make_rows(std::size_t body, std::span<const Node> start, std::span<const Node> places, double apart) {
  rows_[body].clear();
  const ConvexMotion& m = motions[body];
  const RigidForm& form = *bodies[body].form;
  const Eigen::Matrix3d back = m.start.rotation.transpose(), here = m.now.rotation.transpose();
  const std::array<double, 1> whole{1.0};
  FormPlane plane;
  for (Index i = slot_first_[body]; i < slot_first_[body + 1]; ++i) {
    Slot& s = slots_[i];
    const Index v = s.vertex;
    s.now = here * (place_of_row(places[v]) - m.now.position);
    const FaceDistance d = face_distance(form, s.now);
    s.face = d.face;
    s.height = d.distance;
    const Vector3 before = back * (place_of_row(start[v]) - m.start.position);
    // What is far, and has not come from the other side.
    if (d.distance >= rows_within * s.reach && (s.now - before).squaredNorm() <= form.thin * form.thin) continue;
    if (!plane_at(form, before, s.now, rows_within * s.reach, plane)) continue;
    const Slot* const one = &s;
    add_row(body, {&one, 1}, whole, plane, s.reach, start, places, apart);
  }
  const bool round = form.faces.size() == 0;
  SegmentContact crossing;
  for (Index i = edges_.slot_first[body]; i < edges_.slot_first[body + 1]; ++i) {
    const auto& e = edges_.slots[i];
    const std::array<const Slot*, 2> s{&slots_[e[0]], &slots_[e[1]]};
    if (!round && s[0]->face == s[1]->face) continue;
    const double h = std::min(s[0]->reach, s[1]->reach), reach = rows_within * h;
    // Heights fall by at most the length.
    const double length = (s[0]->now - s[1]->now).norm();
    if (s[0]->height + s[1]->height > 2 * reach + length) continue;
    if (!segment_contact(form, s[0]->now, s[1]->now, reach, crossing)) continue;
    const std::array<double, 2> weights{1 - crossing.place, crossing.place};
    add_row(body, s, weights, crossing.plane, h, start, places, apart);
  }
  CornerContact corner;
  for (Index i = triangles_.slot_first[body]; i < triangles_.slot_first[body + 1]; ++i) {
    const auto& t = triangles_.slots[i];
    const std::array<const Slot*, 3> s{&slots_[t[0]], &slots_[t[1]], &slots_[t[2]]};
    if (!round && s[0]->face == s[1]->face && s[1]->face == s[2]->face) continue;
    const double h = std::min({s[0]->reach, s[1]->reach, s[2]->reach});
    if (!corner_contact(form, {s[0]->now, s[1]->now, s[2]->now}, rows_within * h, corner)) continue;
    add_row(body, s, corner.weights, corner.plane, h, start, places, apart);
  }
}

void ConvexContacts::make(std::span<const Node> start, std::span<const Node> places, double apart) {
  if (empty()) return;
  parallel_for(0, static_cast<Index>(bodies.size()), bodies_per_piece, [&](Index from, Index to) {
    for (Index b = from; b < to; ++b) make_rows(b, start, places, apart);
  });
}

void ConvexContacts::sweep_body(std::size_t body, std::span<Node> places, bool recovering) {
  ConvexMotion& m = motions[body];
  for (Row& row : rows_[body]) {
    if (recovering && row.apart == 0) continue;
    const auto count = static_cast<std::size_t>(row.nodes);
    Vector3 way = -row.base;
    for (std::size_t k = 0; k < count; ++k) way += row.weight[k] * place_of_row(places[row.node[k]]);
    way -= m.moved + m.turned.cross(row.arm);
    const double pressed =
        std::max(0.0, row.pressed - (row.gap - (recovering ? row.apart : 0.0) + row.normal.dot(way)) / row.response);
    if (pressed == 0 && row.pressed == 0) continue;
    const Vector3 push = (pressed - row.pressed) * row.normal;
    if (recovering) {
      // Out only.
      if (pressed > row.pressed) add_impulse(row, push, places, m);
      continue;
    }
    // What slides after that; the response along the way.
    Vector3 slip = row.slip + way + row.inverse * push + (m.inverse_inertia * row.arm.cross(push)).cross(row.arm);
    slip -= row.normal.dot(slip) * row.normal;
    Vector3 rubbed = row.rubbed;
    if (const double size = slip.norm(); size > 0) {
      const Vector3 turn = row.arm.cross(Vector3(slip / size));
      rubbed -= slip / (row.inverse + turn.dot(m.inverse_inertia * turn));
    }
    if (const double most = row.friction * pressed, size = rubbed.norm(); size > most) rubbed *= most / size;
    const Vector3 impulse = push + (rubbed - row.rubbed);
    row.pressed = pressed;
    row.rubbed = rubbed;
    add_impulse(row, impulse, places, m);
  }
}

void ConvexContacts::add_impulse(const Row& row, const Vector3& impulse, std::span<Node> places, ConvexMotion& m) {
  for (Index k = 0; k < row.nodes; ++k) {
    Node& node = places[row.node[k]];
    if (node.w == 0) continue;
    const double f = node.w * row.weight[k];
    node.x += f * impulse[0];
    node.y += f * impulse[1];
    node.z += f * impulse[2];
  }
  m.moved -= m.inverse_mass * impulse;
  m.turned -= m.inverse_inertia * row.arm.cross(impulse);
}

void ConvexContacts::sweep_all(std::span<Node> places, bool recovering) {
  if (empty()) return;
  const auto bodies_of = [&](Index c) { return colouring_.extent(c); };
  parallel_phases(colours(), bodies_per_piece, bodies_of, [&](Index c, Index from, Index to) {
    colouring_.visit(c, from, to, [&](std::int32_t b) { sweep_body(b, places, recovering); });
  });
}

void ConvexContacts::sweep(std::span<Node> places) { sweep_all(places, false); }

void ConvexContacts::recover(std::span<Node> places) { sweep_all(places, true); }

Index ConvexContacts::size() const {
  Index sum = 0;
  for (const auto& rows : rows_) sum += static_cast<Index>(rows.size());
  return sum;
}

Index ConvexContacts::pressing() const {
  Index sum = 0;
  for (const auto& rows : rows_) sum += std::ranges::count_if(rows, [](const Row& r) { return r.pressed > 0; });
  return sum;
}

}  // namespace meniscus::solids
