#include "meniscus/solids/real_time/positions_world.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index vertices_per_piece = 2048;

class StageClock {
 public:
  explicit StageClock(std::array<double, 6>& seconds) : seconds_(seconds) {}
  void ends(std::size_t stage) {
    const auto now = std::chrono::steady_clock::now();
    seconds_[stage] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::array<double, 6>& seconds_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

mesh::Point place_of_node(const RealNode& n) { return {n.x, n.y, n.z}; }

}  // namespace

void PositionsWorld::finish_setup() {
  Index n = 0;
  for (const NodeBody& b : nodes) n = std::max(n, b.first + static_cast<Index>(b.surface.size()));
  for (const RigidSurfacePart& b : rigid) n = std::max(n, b.first + static_cast<Index>(b.vertices.size()));
  for (const ReducedPart& b : reduced) n = std::max(n, b.first + static_cast<Index>(b.body.nodes().size()));
  start_.assign(n, {});
  x_ = start_;
  motion_.assign(start_.size(), mesh::Point::Zero());
  body_of_vertex_.assign(start_.size(), -1);
  vertex_in_body_.assign(start_.size(), 0);
  rigid_bodies_.resize(rigid.size());
  bodies_.clear();
  const auto number = [&](Index first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      body_of_vertex_[static_cast<std::size_t>(first) + i] = static_cast<std::int32_t>(bodies_.size());
      vertex_in_body_[static_cast<std::size_t>(first) + i] = static_cast<std::int32_t>(i);
    }
  };
  for (std::size_t b = 0; b < rigid.size(); ++b) {
    number(rigid[b].first, rigid[b].vertices.size());
    bodies_.push_back(&rigid_bodies_[b]);
  }
  for (ReducedPart& b : reduced) {
    number(b.first, b.body.nodes().size());
    bodies_.push_back(&b.body);
    b.places.resize(b.body.motion().model().nodes());
  }
  std::vector<std::uint8_t> closed(bodies_.size(), 1), convex(bodies_.size(), 0);
  std::vector<ConvexBody> forms;
  convex_rigid_.clear();
  for (std::size_t b = 0; b < rigid.size(); ++b) {
    closed[b] = rigid[b].closed ? 1 : 0;
    convex[b] = rigid[b].convex ? 1 : 0;
    if (!rigid[b].convex) continue;
    convex_rigid_.push_back(b);
    forms.push_back({system_->parts[rigid[b].part].form, rigid[b].thickness, rigid[b].friction});
  }
  contacts_->set_bodies(body_of_vertex_, closed, convex);
  const auto of_nodes = [&](const auto& element) {
    return std::ranges::all_of(element, [&](std::int32_t v) { return body_of_vertex_[v] < 0; });
  };
  NodeSurfaces own;
  for (std::size_t v = 0; v < body_of_vertex_.size(); ++v)
    if (body_of_vertex_[v] < 0) own.vertices.push_back(static_cast<std::int32_t>(v));
  std::ranges::copy_if(contacts_->mesh().edges(), std::back_inserter(own.edges), of_nodes);
  std::ranges::copy_if(contacts_->mesh().triangles(), std::back_inserter(own.triangles), of_nodes);
  own.thickness.assign(contacts_->thickness().begin(), contacts_->thickness().end());
  own.friction.assign(contacts_->friction().begin(), contacts_->friction().end());
  own.rest.assign(contacts_->rest().begin(), contacts_->rest().end());
  convex_.set_up(std::move(own), std::move(forms));
}

void PositionsWorld::start_convex(const RigidArrays& a) {
  for (std::size_t i = 0; i < convex_rigid_.size(); ++i) {
    const RigidState& s = a.states[rigid[convex_rigid_[i]].part];
    convex_.motions[i].start = {s.orientation().toRotationMatrix(), s.position};
  }
}

void PositionsWorld::predict_convex(const RigidArrays& a) {
  for (std::size_t i = 0; i < convex_rigid_.size(); ++i) {
    const Index part = rigid[convex_rigid_[i]].part;
    const RigidInertia& inertia = system_->parts[part].inertia;
    ConvexMotion& m = convex_.motions[i];
    m.now = {a.states[part].orientation().toRotationMatrix(), a.states[part].position};
    m.inverse_mass = inertia.inverse_mass;
    m.inverse_inertia = m.now.rotation * inertia.inverse_inertia * m.now.rotation.transpose();
  }
}

void PositionsWorld::sweep_convex(bool recovering) {
  for (std::size_t i = 0; i < convex_rigid_.size(); ++i) {
    ConvexMotion& m = convex_.motions[i];
    const std::size_t b = convex_rigid_[i];
    if (rigid_bodies_[b].degrees() > 0) rigid_bodies_[b].read(rows_.displacement(b), m.moved, m.turned);
  }
  if (recovering)
    convex_.recover(x_);
  else
    convex_.sweep(x_);
  for (std::size_t i = 0; i < convex_rigid_.size(); ++i) {
    const ConvexMotion& m = convex_.motions[i];
    const std::size_t b = convex_rigid_[i];
    if (rigid_bodies_[b].degrees() > 0) rigid_bodies_[b].store(m.moved, m.turned, rows_.displacement(b));
  }
}

void PositionsWorld::recover(const RigidArrays& a) {
  // Bodies have moved by z already: what z grows by is a move of places.
  shifts_.resize(2 * rigid.size());
  const auto read = [&](std::size_t i, Vector3& moved, Vector3& turned) {
    rigid_bodies_[i].read(rows_.displacement(i), moved, turned);
  };
  for (std::size_t i = 0; i < rigid.size(); ++i)
    if (rigid_bodies_[i].degrees() > 0) read(i, shifts_[2 * i], shifts_[2 * i + 1]);
  gather_nodes(x_);
  sweep_convex(true);
  rows_.recover(x_);
  scatter_nodes();
  Vector3 moved = Vector3::Zero(), turned = moved;
  for (std::size_t i = 0; i < rigid.size(); ++i) {
    if (rigid_bodies_[i].degrees() == 0) continue;
    read(i, moved, turned);
    RigidRowBody::shift(moved - shifts_[2 * i], turned - shifts_[2 * i + 1], a.states[rigid[i].part]);
  }
}

void PositionsWorld::gather_nodes(std::span<RealNode> out) {
  for (const NodeBody& b : nodes)
    parallel_for(0, static_cast<Index>(b.surface.size()), vertices_per_piece, [&](Index from, Index to) {
      for (Index i = from; i < to; ++i) out[static_cast<std::size_t>(b.first) + i] = b.nodes[b.surface[i]];
    });
}

void PositionsWorld::scatter_nodes() {
  for (const NodeBody& b : nodes)
    parallel_for(0, static_cast<Index>(b.surface.size()), vertices_per_piece, [&](Index from, Index to) {
      for (Index i = from; i < to; ++i) b.nodes[b.surface[i]] = x_[static_cast<std::size_t>(b.first) + i];
    });
}

void PositionsWorld::place_rigid(const RigidArrays& a, std::span<RealNode> out) {
  for (const RigidSurfacePart& b : rigid) {
    const RigidState& s = a.states[b.part];
    const Eigen::Matrix3d r = s.orientation().toRotationMatrix();
    for (std::size_t i = 0; i < b.vertices.size(); ++i) {
      const Vector3 x = s.position + r * b.vertices[i];
      // No weight: rigid bodies do not touch each other by their surfaces.
      out[static_cast<std::size_t>(b.first) + i] = {x[0], x[1], x[2], 0.0};
    }
  }
}

void PositionsWorld::place_all(const RigidArrays& a, std::span<RealNode> out) {
  gather_nodes(out);
  place_rigid(a, out);
  for (ReducedPart& b : reduced) {
    const ReducedMotion& m = b.body.motion();
    m.positions(b.places);
    const double w = static_cast<double>(m.model().nodes()) / m.model().mass();
    for (std::size_t i = 0; i < b.body.nodes().size(); ++i) {
      const mesh::Point& x = b.places[b.body.nodes()[i]];
      out[static_cast<std::size_t>(b.first) + i] = {x[0], x[1], x[2], w};
    }
  }
}

void PositionsWorld::begin_frame(const FrameRules& rules, const RigidArrays& a, const ContactList& given,
                                 std::span<const PassedPair> passed, double depth) {
  rules_ = rules;
  report_ = {};
  StageClock clock(report_.seconds);
  done_ = gone_ = ahead_ = searched_ = 0;
  depth_ = depth;
  passed_.assign(passed.begin(), passed.end());
  if (!system_->parts.empty()) system_->find_contacts(a, rules.dt, given);
  clock.ends(0);
  place_all(a, start_);
  clock.ends(1);
}

void PositionsWorld::move_rigid(const RigidArrays& a, double h) {
  if (system_->parts.empty()) return;
  const int begun = done_ / rules_.rigid_every * rules_.rigid_every;
  const double length = h * std::min(rules_.rigid_every, rules_.substeps - begun);
  if (done_ == begun) {
    system_->bounce(a, length);
    system_->predict(a, length);
    system_->whole_flights = length == h;
    system_->solve(a, length);
    for (const ContactGroup& g : system_->contacts.groups) {
      const bool first = system_->parts[g.bodies[0]].dynamic();
      if (first == system_->parts[g.bodies[1]].dynamic()) continue;
      for (const ContactPoint& c : system_->contacts.of(g)) {
        const Vector3 j =
            c.normal_impulse * c.normal + c.tangent_impulse[0] * c.tangent + c.tangent_impulse[1] * c.normal.cross(c.tangent);
        report_.support += first ? j : Vector3(-j);
      }
    }
  }
  system_->advance(a, h, length);
}

void PositionsWorld::predict(double h) {
  for (NodeBody& b : nodes) {
    predict_positions<double>(b.nodes, b.velocities, b.previous, b.gravity, h, std::min(b.max_speed, rules_.max_speed));
    const double part = static_cast<double>(done_ + 1) / rules_.substeps;
    for (std::size_t i = 0; i < b.led.size(); ++i) {
      const Index n = b.led[i];
      const mesh::Point x = b.from[i] + part * (b.to[i] - b.from[i]);
      b.velocities[n] = (b.to[i] - b.from[i]) / rules_.dt;
      b.nodes[n].x = x[0], b.nodes[n].y = x[1], b.nodes[n].z = x[2];
    }
    for (ConstraintSet& set : b.constraints)
      std::visit(
          [](auto& own) {
            using Set = std::decay_t<decltype(own)>;
            if constexpr (std::is_same_v<Set, PulledNodes>)
              std::fill(own.multipliers.begin(), own.multipliers.end(), mesh::Point::Zero());
            else if constexpr (std::is_same_v<Set, HeldVolume>)
              own.multiplier = 0;
            else
              own->clear_multipliers();
          },
          set);
  }
  for (ReducedPart& b : reduced) {
    ReducedMotion& m = b.body.motion();
    b.step.dt = h;
    m.clear_loads();
    m.predict(b.step);
    b.body.begin();
    const RigidState next = m.next_frame();
    m.model().positions(m.next_coordinates(), next.orientation().toRotationMatrix(), next.position, b.places);
    for (std::size_t i = 0; i < b.body.nodes().size(); ++i) {
      const mesh::Point& x = b.places[b.body.nodes()[i]];
      RealNode& n = x_[static_cast<std::size_t>(b.first) + i];
      n = {x[0], x[1], x[2], start_[static_cast<std::size_t>(b.first) + i].w};
    }
  }
}

void PositionsWorld::search(double h) {
  const bool first = done_ == 0;
  // Cheap enough to be done whenever it has to.
  if (first || convex_.outdated(x_)) convex_.find(start_, x_, rules_.substeps - done_);
  // Searches share the frame: each looks ahead by its part of it, and lasts longer where all vertices stay near its end.
  const int interval = (rules_.substeps + rules_.searches) / (rules_.searches + 1);
  const auto outdated = [&] { return contacts_->outdated(x_, std::min(1.0, (gone_ + 1.0) / ahead_)); };
  if (!first && (done_ < searched_ * interval || !outdated())) {
    ++gone_;
    return;
  }
  if (!first) {
    const auto found = contacts_->passed(start_, depth_);
    passed_.assign(found.begin(), found.end());
  }
  ahead_ = std::min(interval, rules_.substeps - done_);
  gone_ = 1;
  parallel_for(0, static_cast<Index>(x_.size()), vertices_per_piece, [&](Index from, Index to) {
    for (Index v = from; v < to; ++v)
      motion_[v] = static_cast<double>(ahead_) * (place_of_node(x_[v]) - place_of_node(start_[v]));
  });
  contacts_->find(start_, motion_, passed_);
  ++searched_;
  report_.searches = searched_;
  report_.pairs = contacts_->size() + convex_.candidates();
  static_cast<void>(h);
}

void PositionsWorld::set_planes(double h) {
  // Planes move with their obstacles, and what is inside comes out at a bounded speed.
  const double gone = h * (done_ + 1);
  const auto least = [&](const FramePlane& p, std::size_t vertex) {
    const double offset = p.offset + gone * p.normal.dot(p.velocity);
    const double depth = p.normal.dot(place_of_node(start_[vertex])) - (offset - h * p.normal.dot(p.velocity));
    return offset + std::min(0.0, depth + rules_.recovery * h);
  };
  for (NodeBody& b : nodes) {
    b.now.resize(b.planes.size());
    b.plane_nodes.resize(b.planes.size());
    for (std::size_t i = 0; i < b.planes.size(); ++i) {
      const FramePlane& p = b.planes[i];
      b.plane_nodes[i] = b.surface[b.plane_rows[i]];
      const Index vertex = b.first + b.plane_rows[i];
      b.now[i] = {p.normal, least(p, vertex), h * p.velocity, p.friction, 0.0, mesh::Point::Zero()};
    }
  }
  body_planes_.clear();
  for (const ReducedPart& b : reduced)
    for (std::size_t i = 0; i < b.planes.size(); ++i) {
      const FramePlane& p = b.planes[i];
      const Index vertex = b.first + b.plane_rows[i];
      const double gap = p.normal.dot(place_of_node(x_[vertex])) - least(p, vertex);
      // What is far above stays there in this substep.
      const double way = (place_of_node(x_[vertex]) - place_of_node(start_[vertex])).norm();
      if (gap > way + 0.25 * contacts_->thickness()[vertex]) continue;
      body_planes_.push_back({static_cast<std::int32_t>(vertex), p.normal, gap, h * p.velocity, p.friction});
    }
}

void PositionsWorld::project(double h) {
  StageClock clock(report_.seconds);
  // Always in one order: sweeps over folded cloth end far from where those of the other order do, and taking turns would make
  // velocities of the difference.
  const bool backward = false;
  const ProjectionRules rules{.dt = h};
  for (int k = 0; k < rules_.iterations; ++k) {
    for (NodeBody& b : nodes) {
      const auto one = [&](auto& own) {
        using Set = std::decay_t<decltype(own)>;
        if constexpr (std::is_same_v<Set, PulledNodes>)
          project_targets<double>(
              b.nodes, {.nodes = own.nodes, .targets = own.targets, .multipliers = own.multipliers, .compliance = own.compliance},
              rules);
        else if constexpr (std::is_same_v<Set, HeldVolume>)
          project_closed_volume<double>(own.surface, own.multiplier, b.nodes, own.gradient, rules);
        else
          own->project(b.nodes, rules);
      };
      for (std::size_t i = 0; i < b.constraints.size(); ++i) std::visit(one, b.constraints[i]);
    }
    gather_nodes(x_);
    contacts_->project(x_, backward);
    clock.ends(3);
    if (k == 0) {
      contacts_->rows(x_, contact_rows_);
      rows_.make({body_of_vertex_, vertex_in_body_, bodies_, start_}, contact_rows_, body_planes_, x_);
      convex_.make(start_, x_, rules_.recovery * h);
    }
    sweep_convex(false);
    // Forth and back: sweeps in one order leave what slides on planes with a bias along it.
    for (const bool back : {false, true}) rows_.sweep(x_, back);
    scatter_nodes();
    for (NodeBody& b : nodes) project_planes<double>(b.nodes, b.previous, b.plane_nodes, b.now);
    clock.ends(4);
  }
  report_.rows = rows_.size() + convex_.size();
  report_.pressing = rows_.pressing() + convex_.pressing();
  add_support(h);
}

void PositionsWorld::add_support(double h) {
  report_.support += rows_.of_planes() / h;
  for (const NodeBody& b : nodes)
    for (std::size_t i = 0; i < b.now.size(); ++i) {
      const double w = b.nodes[b.plane_nodes[i]].w;
      if (w > 0) report_.support += (b.now[i].pressed * b.now[i].normal + b.now[i].rubbed) / (w * h);
    }
}

void PositionsWorld::take(const RigidArrays& a, double h) {
  for (std::size_t i = 0; i < rigid.size(); ++i) {
    const Index part = rigid[i].part;
    if (rigid_bodies_[i].degrees() == 0) continue;
    rigid_bodies_[i].take(rows_.displacement(i), h, a.states[part]);
  }
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    const RigidPart& part = system_->parts[i];
    if (!part.dynamic()) continue;
    RigidState& s = a.states[i];
    const double speed = part.inertia.inverse_mass * s.momentum.norm();
    if (speed > rules_.max_speed) s.momentum *= rules_.max_speed / speed;
    const double turning = angular_velocity(part.inertia, s.orientation(), s.angular_momentum).norm() * part.form->reach;
    if (turning > rules_.max_speed) s.angular_momentum *= rules_.max_speed / turning;
  }
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    reduced[i].body.take(rows_.displacement(rigid.size() + i), h);
    reduced[i].bounds.speed = rules_.max_speed;
    reduced[i].body.motion().bound(reduced[i].bounds);
  }
  for (NodeBody& b : nodes) {
    update_velocities<double>(b.nodes, b.previous, b.velocities, h, std::exp(-b.damping * h));
    const double most = std::min(b.max_speed, rules_.max_speed);
    parallel_for(0, static_cast<Index>(b.velocities.size()), vertices_per_piece, [&](Index from, Index to) {
      for (Index i = from; i < to; ++i)
        if (const double speed = b.velocities[i].norm(); speed > most) b.velocities[i] *= most / speed;
    });
  }
}

void PositionsWorld::substep(const RigidArrays& a) {
  require(done_ < rules_.substeps, "the frame has had all its substeps: end it");
  StageClock clock(report_.seconds);
  const double h = rules_.dt / rules_.substeps;
  start_convex(a);
  move_rigid(a, h);
  clock.ends(0);
  predict(h);
  for (std::size_t i = 0; i < rigid.size(); ++i) {
    const Index part = rigid[i].part;
    rigid_bodies_[i].begin(a.states[part], system_->parts[part].inertia);
  }
  gather_nodes(x_);
  place_rigid(a, x_);
  predict_convex(a);
  clock.ends(1);
  search(h);
  depth_ = contacts_->begin(start_, x_, h);
  set_planes(h);
  clock.ends(2);
  project(h);
  StageClock rest(report_.seconds);
  take(a, h);
  recover(a);
  place_all(a, start_);
  ++done_;
  report_.substeps = done_;
  rest.ends(5);
}

std::span<const PassedPair> PositionsWorld::end_frame() {
  const auto found = contacts_->passed(start_, depth_);
  passed_.assign(found.begin(), found.end());
  return passed_;
}

Index PositionsWorld::nbytes() const {
  const auto bytes = []<class U>(const std::vector<U>& v) { return static_cast<Index>(v.capacity() * sizeof(U)); };
  Index sum = contacts_->nbytes() + rows_.nbytes() + convex_.nbytes() + bytes(convex_rigid_) + bytes(shifts_) + bytes(start_) +
              bytes(x_) + bytes(motion_) + bytes(body_of_vertex_) + bytes(vertex_in_body_) + bytes(contact_rows_) +
              bytes(body_planes_) + bytes(passed_);
  for (const NodeBody& b : nodes)
    sum += bytes(b.surface) + bytes(b.plane_rows) + bytes(b.plane_nodes) + bytes(b.planes) + bytes(b.now) + bytes(b.led) +
           bytes(b.from) + bytes(b.to);
  for (const ReducedPart& b : reduced) sum += b.body.nbytes() + bytes(b.places) + bytes(b.plane_rows) + bytes(b.planes);
  return sum;
}

}  // namespace meniscus::solids
