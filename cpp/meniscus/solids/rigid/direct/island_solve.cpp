#include "meniscus/solids/rigid/direct/island_solve.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

/// Of the proximal point method, in masses of the island. A soft start lets few contacts change at once; the stiffer, the fewer
/// turns of the outer loop, and the fewer digits of velocities of bodies that are light among heavy ones.
constexpr double first_stiffness = 1, growth = 10, most_stiffness = 1e4;
/// Turns of the outer loop, those in a row that bring nothing, Newton steps of a turn, and parts that a step is cut to.
constexpr int most_turns = 60, most_worse = 12, most_steps = 15, most_cuts = 8;
/// Of the slope at the start of a line search: what may be left of it.
constexpr double steep = 0.5;

double inverse_of(double x) { return x > 0 ? 1 / x : 0; }

Vec<double, 6> on_body(const ImpulseRow& row, std::size_t side) {
  Vec<double, 6> j;
  const double sign = side == 0 ? 1 : -1;
  j << sign * row.direction, sign * row.arm[side];
  return j;
}

/// Shortens impulses y to a limit; what is left of the stiffness then. Returns whether they were longer.
bool shorten(double limit, double stiffness, Vec<double, 2>& y, Eigen::Matrix2d& left) {
  const double length = y.norm();
  left = stiffness * Eigen::Matrix2d::Identity();
  if (!(length > limit)) return false;
  const Vec<double, 2> way = y / length;
  left = (stiffness * limit / length) * (Eigen::Matrix2d::Identity() - way * way.transpose());
  y = limit * way;
  return true;
}

}  // namespace

Index IslandSolve::order(const IslandBodies& all, std::span<const std::int32_t> groups, std::span<std::int32_t> numbers) {
  nodes_.clear();
  pairs_.clear();
  for (const std::int32_t g : groups) {
    std::array<std::int32_t, 2> nodes{-1, -1};
    for (std::size_t k = 0; k < 2; ++k) {
      const std::int32_t body = all.groups[g].bodies[k];
      if (!all.moves[body]) continue;
      if (numbers[body] < 0) {
        numbers[body] = static_cast<std::int32_t>(nodes_.size());
        nodes_.emplace_back().body = body;
      }
      nodes[k] = numbers[body];
    }
    pairs_.push_back({g, nodes});
  }
  matrix_.order(std::ssize(nodes_), [&](auto&& f) {
    for (const Pair& p : pairs_)
      if (p.nodes[0] >= 0 && p.nodes[1] >= 0) f(p.nodes[0], p.nodes[1]);
  });
  return matrix_.work();
}

void IslandSolve::begin(const IslandBodies& all, IslandImpulses which) {
  which_ = which;
  points_.clear();
  mass_ = turning_mass_ = 0;
  for (Node& n : nodes_) {
    n.before = n.free = n.now = all.velocities[n.body];
    n.mass = 1 / all.inertias[n.body].inverse_mass;
    n.inertia = all.inertias[n.body].inverse_inertia.inverse();
    mass_ += n.mass;
    turning_mass_ += n.inertia.trace() / 3;
  }
  for (const Pair& pair : pairs_) {
    const SolverGroup& group = all.groups[pair.group];
    for (Index i = group.first; i < group.first + group.count; ++i) {
      Point& p = points_.emplace_back();
      p.at = i;
      p.group = pair.group;
      p.nodes = pair.nodes;
      const SolverPoint& s = all.points[i];
      p.target = which == IslandImpulses::contact ? s.target : s.push_target;
      p.before.normal = which == IslandImpulses::contact ? s.impulse : s.push_impulse;
      if (which == IslandImpulses::contact) {
        p.before.slide = {s.tangent_impulse[0], s.tangent_impulse[1]};
        if (const SolverTurns* const t = turns_of(all, p))
          p.before.spin = t->impulse[0], p.before.roll = {t->impulse[1], t->impulse[2]};
      }
      p.kept = p.now = p.before;
      add_impulses(all, p, p.kept, -1, &Node::free);
    }
  }
}

const SolverTurns* IslandSolve::turns_of(const IslandBodies& all, const Point& p) const {
  return which_ == IslandImpulses::contact && all.groups[p.group].turns() ? &all.turns[p.at] : nullptr;
}

const RigidVelocity& IslandSolve::velocity(const IslandBodies& all, const Point& p, std::size_t side) const {
  return p.nodes[side] >= 0 ? nodes_[p.nodes[side]].now : all.velocities[all.groups[p.group].bodies[side]];
}

void IslandSolve::add_impulses(const IslandBodies& all, const Point& p, const Impulses& x, double factor,
                               RigidVelocity Node::* field) {
  std::array<RigidVelocity, 2> still;
  RigidVelocity& first = p.nodes[0] >= 0 ? nodes_[p.nodes[0]].*field : still[0];
  RigidVelocity& second = p.nodes[1] >= 0 ? nodes_[p.nodes[1]].*field : still[1];
  const SolverPoint& s = all.points[p.at];
  s.normal.apply(factor * x.normal, first, second);
  if (which_ == IslandImpulses::push) return;
  for (std::size_t k = 0; k < 2; ++k) s.tangent[k].apply(factor * x.slide[static_cast<Eigen::Index>(k)], first, second);
  const SolverTurns* const t = turns_of(all, p);
  if (!t) return;
  t->rows[0].apply(factor * x.spin, first, second);
  t->rows[1].apply(factor * x.roll[0], first, second);
  t->rows[2].apply(factor * x.roll[1], first, second);
}

void IslandSolve::project(Point& p, double normal, const Vector2& slide) const {
  const double length = slide.norm(), mu = p.friction;
  p.stiffness.setZero();
  if (mu * length <= -normal) {
    p.state.zone = Zone::open;
    p.now.normal = 0;
    p.now.slide.setZero();
  } else if (length <= mu * normal) {
    p.state.zone = Zone::holds;
    p.now.normal = normal;
    p.now.slide = slide;
    p.stiffness.diagonal().setConstant(stiffness_);
  } else {
    p.state.zone = Zone::slides;
    const Vector2 way = slide / length;
    p.now.normal = (normal + mu * length) / (1 + mu * mu);
    p.now.slide = (mu * p.now.normal) * way;
    const Vec<double, 3> along(1, mu * way[0], mu * way[1]), across(0, -way[1], way[0]);
    p.stiffness = (stiffness_ / (1 + mu * mu)) * along * along.transpose();
    p.stiffness += (stiffness_ * mu * p.now.normal / length) * across * across.transpose();
  }
}

bool IslandSolve::respond(const IslandBodies& all) {
  bool differs = false;
  for (Point& p : points_) {
    const RigidVelocity &first = velocity(all, p, 0), &second = velocity(all, p, 1);
    const SolverPoint& s = all.points[p.at];
    const double normal = p.kept.normal + stiffness_ * (p.target - p.parting - s.normal.velocity(first, second));
    State& state = p.state;
    if (which_ == IslandImpulses::push) {
      state.zone = normal > 0 ? Zone::holds : Zone::open;
      p.now.normal = std::max(0.0, normal);
      p.stiffness.setZero();
      p.stiffness(0, 0) = normal > 0 ? stiffness_ : 0;
    } else {
      const Vector2 slide =
          p.kept.slide - stiffness_ * Vector2(s.tangent[0].velocity(first, second), s.tangent[1].velocity(first, second));
      project(p, normal, slide);
      differs = differs || (state.zone == Zone::slides && p.friction > 0);
      if (const SolverTurns* const t = turns_of(all, p)) {
        const double spin = p.kept.spin - turn_stiffness_ * t->rows[0].velocity(first, second);
        p.now.spin = std::clamp(spin, -p.limits.spin, p.limits.spin);
        state.spins = p.now.spin != spin;
        p.now.roll =
            p.kept.roll - turn_stiffness_ * Vector2(t->rows[1].velocity(first, second), t->rows[2].velocity(first, second));
        state.rolls = shorten(p.limits.roll, turn_stiffness_, p.now.roll, p.roll_stiffness);
        differs = differs || (state.rolls && p.limits.roll > 0);
      }
    }
    differs = differs || state != p.factored;
  }
  gradient_.resize(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    gradient_[i] << n.mass * (n.now.linear - n.free.linear), n.inertia * (n.now.angular - n.free.angular);
  }
  for (const Point& p : points_) {
    const SolverPoint& s = all.points[p.at];
    const SolverTurns* const t = turns_of(all, p);
    for (std::size_t k = 0; k < 2; ++k) {
      if (p.nodes[k] < 0) continue;
      Vector6& g = gradient_[p.nodes[k]];
      g -= p.now.normal * on_body(s.normal, k);
      if (which_ == IslandImpulses::push) continue;
      g -= p.now.slide[0] * on_body(s.tangent[0], k) + p.now.slide[1] * on_body(s.tangent[1], k);
      if (t)
        g -=
            p.now.spin * on_body(t->rows[0], k) + p.now.roll[0] * on_body(t->rows[1], k) + p.now.roll[1] * on_body(t->rows[2], k);
    }
  }
  return differs;
}

void IslandSolve::assemble(const IslandBodies& all) {
  using Rows = Eigen::Matrix<double, 6, 3>;
  matrix_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Matrix6 m = Matrix6::Zero();
    m.topLeftCorner<3, 3>() = nodes_[i].mass * Eigen::Matrix3d::Identity();
    m.bottomRightCorner<3, 3>() = nodes_[i].inertia;
    matrix_.add(static_cast<std::int32_t>(i), m);
  }
  const auto add = [&](const Point& p, const std::array<const ImpulseRow*, 3>& rows, const Eigen::Matrix3d& stiffness) {
    std::array<Rows, 2> j, stiff;
    for (std::size_t k = 0; k < 2; ++k) {
      if (p.nodes[k] < 0) continue;
      for (std::size_t r = 0; r < 3; ++r) j[k].col(static_cast<Eigen::Index>(r)) = on_body(*rows[r], k);
      stiff[k].noalias() = j[k] * stiffness;
      matrix_.add(p.nodes[k], stiff[k] * j[k].transpose());
    }
    if (p.nodes[0] >= 0 && p.nodes[1] >= 0) matrix_.add(p.nodes[0], p.nodes[1], stiff[0] * j[1].transpose());
  };
  for (Point& p : points_) {
    p.factored = p.state;
    const SolverPoint& s = all.points[p.at];
    if (p.state.zone != Zone::open) add(p, {&s.normal, &s.tangent[0], &s.tangent[1]}, p.stiffness);
    if (const SolverTurns* const t = turns_of(all, p)) {
      Eigen::Matrix3d stiffness = Eigen::Matrix3d::Zero();
      stiffness(0, 0) = p.state.spins ? 0 : turn_stiffness_;
      stiffness.bottomRightCorner<2, 2>() = p.roll_stiffness;
      add(p, {&t->rows[0], &t->rows[1], &t->rows[2]}, stiffness);
    }
  }
  matrix_.factor();
}

double IslandSolve::slope() const {
  double sum = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) sum += gradient_[i].dot(step_[i]);
  return sum;
}

bool IslandSolve::go(const IslandBodies& all, double part) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].now.linear = start_[i].linear + part * step_[i].head<3>();
    nodes_[i].now.angular = start_[i].angular + part * step_[i].tail<3>();
  }
  return respond(all);
}

bool IslandSolve::find_velocities(const IslandBodies& all, double enough) {
  bool differs = respond(all) || !factored_;
  for (int k = 0; k < most_steps; ++k) {
    if (differs) assemble(all);
    factored_ = true;
    step_.resize(nodes_.size());
    start_.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      step_[i] = -gradient_[i];
      start_[i] = nodes_[i].now;
    }
    matrix_.solve(step_);
    double size = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const double turn = std::sqrt(nodes_[i].inertia.trace() / nodes_[i].mass) * step_[i].tail<3>().norm();
      size = std::max({size, step_[i].head<3>().norm(), turn});
      if (!(size < std::numeric_limits<double>::infinity()) || !step_[i].allFinite()) return go(all, 0), false;
    }
    const double down = slope();
    differs = go(all, 1);
    if (size <= enough) return true;
    // Rounding errors are all that is left.
    if (!(down < 0)) return true;
    double low = 0, high = 1, slope_low = down, slope_high = slope();
    for (int cut = 0; cut < most_cuts && slope_high > -steep * down; ++cut) {
      const double part = low + (high - low) * std::clamp(slope_low / (slope_low - slope_high), 0.1, 0.9);
      differs = go(all, part);
      const double there = slope();
      if (std::abs(there) <= -steep * down) break;
      (there < 0 ? low : high) = part;
      (there < 0 ? slope_low : slope_high) = there;
    }
  }
  return false;
}

void IslandSolve::limit(const IslandBodies& all, const ContactOptions& options) {
  if (which_ == IslandImpulses::push) return;
  for (Point& p : points_) {
    const RigidSurface& s = all.groups[p.group].surface;
    const double normal = p.kept.normal;
    p.limits = {s.spinning_friction * normal, s.rolling_friction * normal};
    Vector2 wanted = slide_wanted(all, p), held = wanted;
    limit_friction(s, options, normal, held[0], held[1]);
    p.friction = held != wanted ? s.dynamic_friction : s.static_friction;
    p.parting = p.friction * slide_speed(all, p).norm();
  }
}

Vec<double, 2> IslandSolve::slide_speed(const IslandBodies& all, const Point& p) const {
  const RigidVelocity &first = velocity(all, p, 0), &second = velocity(all, p, 1);
  const SolverPoint& s = all.points[p.at];
  return {s.tangent[0].velocity(first, second), s.tangent[1].velocity(first, second)};
}

Vec<double, 2> IslandSolve::slide_wanted(const IslandBodies& all, const Point& p) const {
  return p.kept.slide - all.points[p.at].tangent_mass * slide_speed(all, p);
}

double IslandSolve::keep(const IslandBodies& all, const ContactOptions& options) {
  for (Node& n : nodes_) n.now = n.free;
  for (Point& p : points_) {
    p.kept = p.now;
    add_impulses(all, p, p.kept, 1, &Node::now);
  }
  double lack = 0;
  for (const Point& p : points_) {
    const SolverPoint& s = all.points[p.at];
    const double short_of = p.target - s.normal.velocity(velocity(all, p, 0), velocity(all, p, 1));
    lack = std::max(lack, std::abs(std::max(-p.kept.normal, short_of * s.normal_mass)) * s.normal.response);
    if (which_ == IslandImpulses::push) continue;
    Vector2 slide = slide_wanted(all, p);
    limit_friction(all.groups[p.group].surface, options, p.kept.normal, slide[0], slide[1]);
    lack = std::max(lack, (slide - p.kept.slide).norm() * inverse_of(s.tangent_mass));
  }
  return lack;
}

double IslandSolve::solve(const IslandBodies& all, const ContactOptions& options, IslandImpulses which, double enough) {
  begin(all, which);
  double best = std::numeric_limits<double>::infinity();
  double masses = first_stiffness;
  int worse = 0;
  for (int turn = 0; turn < most_turns && worse < most_worse; ++turn) {
    stiffness_ = masses * mass_;
    turn_stiffness_ = masses * turning_mass_;
    factored_ = false;
    limit(all, options);
    const bool found = find_velocities(all, 0.1 * enough);
    const double lack = keep(all, options);
    worse = lack < best ? 0 : worse + 1;
    if (lack < best) {
      best = lack;
      for (Node& n : nodes_) n.best = n.now;
      for (Point& p : points_) p.best = p.kept;
    }
    if (lack <= enough) break;
    masses = found ? std::min(growth * masses, most_stiffness) : std::max(masses / growth, first_stiffness);
  }
  for (const Node& n : nodes_) all.velocities[n.body] = n.best;
  for (const Point& p : points_) write(all, p, p.best);
  return best;
}

void IslandSolve::restore(const IslandBodies& all) const {
  for (const Node& n : nodes_) all.velocities[n.body] = n.before;
  for (const Point& p : points_) write(all, p, p.before);
}

void IslandSolve::write(const IslandBodies& all, const Point& p, const Impulses& x) const {
  SolverPoint& s = all.points[p.at];
  if (which_ == IslandImpulses::push) {
    s.push_impulse = x.normal;
    return;
  }
  s.impulse = x.normal;
  s.tangent_impulse = {x.slide[0], x.slide[1]};
  if (all.groups[p.group].turns()) all.turns[p.at].impulse = {x.spin, x.roll[0], x.roll[1]};
}

Index IslandSolve::nbytes() const {
  return matrix_.nbytes() +
         static_cast<Index>(nodes_.capacity() * sizeof(Node) + pairs_.capacity() * sizeof(Pair) +
                            points_.capacity() * sizeof(Point) + (gradient_.capacity() + step_.capacity()) * sizeof(Vector6) +
                            start_.capacity() * sizeof(RigidVelocity));
}

}  // namespace meniscus::solids
