#include "meniscus/solids/integrators/newton.hpp"

#include "meniscus/solids/integrators/velocity_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// So many steps for less than the potential can tell are enough.
constexpr int most_hidden = 8;

double dot(ConstPoints a, ConstPoints b) {
  return nodes::sum(static_cast<Index>(a.size()), 0.0, [&](std::size_t i) { return a[i].dot(b[i]); });
}

}  // namespace

Newton::Newton(const BodyStep& step, const StepOptions& options, StepReport& report, PotentialTerm* term)
    : step_(step),
      options_(options),
      report_(report),
      potential_(step, term),
      v_(step.scratch()),
      x_(step.scratch()),
      residual_(step.scratch()),
      direction_(step.scratch()),
      trial_(step.scratch()),
      trial_x_(step.scratch()),
      trial_residual_(step.scratch()) {}

double Newton::goal() const { return options_.newton_tolerance * (now_.forces + 1e-12); }

double Newton::largest_coordinate() const {
  return nodes::largest(step_.size(), [&](std::size_t i) { return x_[i].cwiseAbs().maxCoeff(); });
}

double Newton::floor() const { return 8 * epsilon * largest_coordinate() * stiffness_size_ / step_.dt(); }

double Newton::noise() const {
  const double reach = largest_coordinate() / step_.dt();
  return 1e-11 * now_.size + 32 * epsilon * reach * reach * stiffness_size_;
}

double Newton::fastest(ConstPoints v) const {
  return nodes::largest(step_.size(), [&](std::size_t i) { return v[i].norm(); });
}

bool Newton::negligible() const { return step_.dt() * fastest(direction_) <= 64 * epsilon * largest_coordinate(); }

double Newton::forcing() const {
  // By speeds, a step is as good as its way is free: tighter solves take iterations, and save none of Newton's.
  const double first = speeds_ ? 0.1 : 0.03;
  double eta = first;
  if (before_ > 0) {
    const double ratio = now_.residual / before_;
    eta = 0.9 * ratio * ratio;
    // Not much tighter than the last one at once.
    if (forcing_ * forcing_ > 0.1) eta = std::max(eta, 0.9 * forcing_ * forcing_);
    eta = std::min(eta, first);
  }
  if (speeds_) return eta;
  // Nor tighter than what reaches the goal.
  return std::max(eta, std::min(0.25 * goal() / now_.residual, first));
}

void Newton::set_guess(Guess kind, Points v) const {
  nodes::each(step_.size(), [&](std::size_t i) {
    v[i] = potential_.start()[i];
    if (step_.inverse_mass(i) == 0) return;
    if (kind == Guess::fall) v[i] += mesh::Point(step_.dt() * step_.gravity(i));
    if (kind == Guess::rest) v[i].setZero();
  });
  step_.hold_mean_velocities(v);
}

void Newton::guess() {
  // Rest is for bodies that the present velocity would wreck. Where it merely stretches stiff springs by turning them, one solve
  // removes that, but does not give a body at rest its velocity.
  constexpr double wrecked = 100;
  set_guess(Guess::inertia, v_);
  now_ = potential_.evaluate(v_, x_, residual_);
  for (const Guess kind : {Guess::fall, Guess::rest}) {
    set_guess(kind, trial_);
    const PotentialValue there = potential_.evaluate(trial_, direction_, trial_residual_);
    const bool rest = kind == Guess::rest;
    if (rest) at_rest_ = there.potential;
    if (!there.finite() || now_.potential - there.potential <= (rest ? wrecked * there.size : 0.0)) continue;
    nodes::copy(trial_, v_);
    nodes::copy(direction_, x_);
    nodes::copy(trial_residual_, residual_);
    now_ = there;
  }
}

bool Newton::find_direction(Tangent tangent, double tolerance, ConstPoints given) {
  numerics::SolveInfo& info = report_.solves[0];
  info.history.reserve(static_cast<std::size_t>(options_.solve.max_iterations) + 8);
  info.history.clear();
  info.iterations = 0;
  const double dt = step_.dt();
  potential_.linearise(x_, v_, tangent);
  VelocitySystem system(step_, dt, dt * dt,
                        options_.preconditioner == Preconditioner::automatic ? Preconditioner::blocks : options_.preconditioner,
                        potential_.term());
  stiffness_size_ = system.stiffness_size();
  const ScratchPoints b_memory = step_.scratch(), r_memory = step_.scratch(), p_memory = step_.scratch(),
                      q_memory = step_.scratch(), z_memory = step_.scratch();
  Points b = b_memory, d = direction_, r = r_memory, p = p_memory, q = q_memory, z = z_memory;
  nodes::each(step_.size(), [&](std::size_t i) {
    b[i] = -system.scale(i) * residual_[i];
    d[i].setZero();
    q[i].setZero();
  });
  if (!given.empty()) {
    system.add_forces(given, q);
    if (potential_.term() != nullptr) potential_.term()->add_given(-dt, q);
    nodes::each(step_.size(), [&](std::size_t i) { b[i] += system.scale(i) * q[i]; });
    step_.project(b);
  }
  numerics::SolveOptions options = options_.solve;
  options.tolerance = std::max(options.tolerance, tolerance);
  system.end_when_late(options);
  numerics::conjugate_gradients<VelocitySystem>(system, {d, b, r, p, q, z}, options, true, info);
  nodes::each(step_.size(), [&](std::size_t i) {
    d[i] *= system.scale(i);
    if (!given.empty()) d[i] += given[i];
  });
  report_.newton.linear_iterations += info.iterations;
  // An unfinished solve that began at zero still points downhill.
  return std::isfinite(info.residual) && info.end != numerics::SolveEnd::not_a_number &&
         (tangent != Tangent::exact || info.end != numerics::SolveEnd::indefinite_matrix);
}

double Newton::reach() {
  if (potential_.term() == nullptr) return std::numeric_limits<double>::infinity();
  nodes::each(step_.size(), [&](std::size_t i) { trial_[i] = v_[i] + direction_[i]; });
  potential_.positions(trial_, trial_x_);
  return potential_.term()->free_part(x_, trial_x_);
}

bool Newton::search() {
  const double slope = dot(direction_, residual_);
  hidden_ = false;
  if (!(slope < 0)) return false;
  constexpr double sigma = 0.5;
  const double flat = -sigma * slope, hides = noise(), longest = reach();
  hidden_ = -slope <= hides;
  // The minimum along the direction lies between `low`, where the potential falls, and `high`, where it rises or is greater.
  struct Place {
    double length, potential, slope;
  };
  Place low{0, now_.potential, slope}, high{-1, 0, 0}, best = low;
  PotentialValue there;
  const auto go = [&](double length) {
    nodes::each(step_.size(), [&](std::size_t i) { trial_[i] = v_[i] + length * direction_[i]; });
    there = potential_.evaluate(trial_, trial_x_, trial_residual_);
    return Place{length, there.potential, dot(direction_, trial_residual_)};
  };
  const auto free = [&] { return potential_.term() == nullptr || potential_.term()->is_free(x_, trial_x_); };
  Place at{0, 0, 0};
  for (int trials = 0; trials < (best.length > 0 ? 6 : 40); ++trials) {
    double length = std::min(1.0, longest);
    if (trials > 0 && high.length < 0) {
      if (low.length >= longest) break;
      length = std::min(2 * low.length, longest);
    } else if (trials > 0)
      length = low.length +
               (high.length - low.length) * (high.slope > 0 ? std::clamp(low.slope / (low.slope - high.slope), 0.1, 0.9) : 0.5);
    at = go(length);
    if (trials > 0) ++report_.newton.halvings;
    const double change = at.potential - now_.potential;
    const bool falls = there.finite() && change <= 1e-4 * length * slope && at.potential <= low.potential;
    // Where rounding errors hide whether the potential falls, its slope tells.
    const bool hidden = there.finite() && std::abs(at.potential - low.potential) <= hides && at.slope <= flat;
    if ((!falls && !hidden) || !free()) {
      high = at;
      if (!there.finite()) high.slope = 0;
      continue;
    }
    if (at.potential <= best.potential || hidden) best = at;
    if (std::abs(at.slope) <= flat) break;
    (at.slope < 0 ? low : high) = at;
  }
  if (best.length == 0) {
    now_ = potential_.evaluate(v_, x_, residual_);
    return false;
  }
  if (best.length != at.length) go(best.length);
  nodes::copy(trial_, v_);
  nodes::copy(trial_x_, x_);
  nodes::copy(trial_residual_, residual_);
  before_ = now_.residual;
  now_ = there;
  return true;
}

void Newton::conserve_momentum() {
  for (const BodyInStep& b : step_.bodies()) conserve_momentum(b);
}

void Newton::conserve_momentum(const BodyInStep& body) {
  const auto heavy = [&](std::size_t i) { return step_.inverse_mass(body.node(i)) == 0; };
  if (!body.body->constraints().constrained().empty()) return;
  if (step_.has_infinite_masses() && nodes::first(body.size(), heavy) < body.size()) return;
  const ConstPoints residual = body.of(residual_);
  const mesh::Point lost = nodes::sum(body.size(), mesh::Point(mesh::Point::Zero()), [&](std::size_t i) { return residual[i]; });
  const double mass = nodes::sum(body.size(), 0.0, [&](std::size_t i) { return 1 / step_.inverse_mass(body.node(i)); });
  nodes::copy(v_, trial_);
  const Points own = body.of(trial_);
  nodes::each(body.size(), [&](std::size_t i) { own[i] -= lost / mass; });
  const PotentialValue there = potential_.evaluate(trial_, direction_, trial_residual_);
  // Short of the goal, where a body at rest may have been the start, a lower potential is as good.
  const bool lower = !report_.newton.converged && there.potential <= now_.potential + noise();
  if (!there.finite() || (!lower && there.residual > std::max({now_.residual, goal(), floor()}))) return;
  nodes::copy(trial_, v_);
  nodes::copy(direction_, x_);
}

bool Newton::run() {
  report_.used_newton = true;
  report_.solve_count = 1;
  guess();
  const PotentialValue first = now_;
  iterate(options_.max_newton);
  // Another minimum, or none, was found above the potential of a body at rest, which bounds its energy.
  const bool below = now_.potential <= at_rest_ + noise();
  const bool ended = report_.newton.converged || report_.newton.iterations >= options_.max_newton || step_.late();
  if (first.potential > at_rest_ && !(ended && below)) {
    set_guess(Guess::rest, v_);
    begin(v_);
    iterate(options_.max_newton);
  }
  if (!report_.newton.converged || report_.newton.iterations > 0) conserve_momentum();
  return report_.newton.converged;
}

void Newton::begin(ConstPoints v) {
  if (v.data() != Points(v_).data()) nodes::copy(v, v_);
  now_ = potential_.evaluate(v_, x_, residual_);
  before_ = 0;
}

bool Newton::minimise(const SpeedGoal& goal, int most) {
  report_.newton.converged = false;
  speeds_ = goal;
  begin(v_);
  iterate(report_.newton.iterations + most);
  return report_.newton.converged;
}

void Newton::follow(ConstPoints given) { find_direction(Tangent::definite, options_.solve.tolerance, given); }

void Newton::judge() {
  NewtonInfo& info = report_.newton;
  info.residual = now_.residual / (now_.forces + 1e-12);
  info.round_off = now_.residual > goal() && now_.residual <= floor();
  info.converged = now_.residual <= goal() || info.round_off;
}

void Newton::iterate(int limit) {
  NewtonInfo& info = report_.newton;
  // A loose solve says little about slow motions: by speeds, the last one is tight.
  bool tight = false;
  double longest = std::numeric_limits<double>::infinity();
  const auto near = [&] { return longest <= speeds_->unlimited(fastest(v_)); };
  for (int hidden = 0; true; hidden += hidden_ ? 1 : 0) {
    if (!speeds_) judge();
    if (info.converged || step_.late() || !now_.finite()) return;
    const bool enough = speeds_ && hidden == most_hidden;
    if (info.iterations >= limit || enough) {
      // By speeds, a limit for the sake of forces is dropped where there is no more to gain.
      if (speeds_) info.converged = enough || near();
      return;
    }
    ++info.iterations;
    forcing_ = tight ? 0 : forcing();
    Tangent tangent = options_.newton_tangent;
    bool found = find_direction(tangent, forcing_);
    if (!found && tangent == Tangent::exact) {
      report_.used_definite_tangent = true;
      tangent = Tangent::definite;
      found = find_direction(tangent, forcing_);
    }
    if (!found) return;
    longest = fastest(direction_);
    if (negligible()) {
      // The remaining residual moves no position by more than round-off; further steps would only change round-off.
      if (potential_.term() == nullptr) {
        nodes::each(step_.size(), [&](std::size_t i) { v_[i] += direction_[i]; });
        now_ = potential_.evaluate(v_, x_, residual_);
      }
      info.round_off = info.converged = true;
      return;
    }
    const bool small = speeds_ && longest <= speeds_->at(fastest(v_));
    const bool last = small && forcing_ <= options_.solve.tolerance;
    tight = tight || small;
    bool fell = search();
    if (!fell && tangent == Tangent::exact) {
      report_.used_definite_tangent = true;
      fell = find_direction(Tangent::definite, forcing_) && search();
    }
    if (!fell) {
      if (speeds_) info.converged = last || hidden_ || near();
      return;
    }
    if (potential_.term() != nullptr && potential_.term()->arrive(x_))
      now_ = potential_.evaluate(v_, x_, residual_);
    else
      info.converged = last;
  }
}

}  // namespace meniscus::solids
