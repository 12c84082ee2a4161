#include "meniscus/solids/contact/barrier_step.hpp"

#include "meniscus/numerics/conjugate_gradients.hpp"

#include <Eigen/Cholesky>

#include <chrono>
#include <cmath>

namespace meniscus::solids {
namespace {

/// Models LinearSystem: M - dt D - dt^2 K + dt^2 H, scaled by masses as `VelocitySystem`, with the second derivative H of
/// contact.
class BarrierSystem {
 public:
  using Vector = Points;
  using Correction = Points;

  BarrierSystem(const BodyStep& step, BarrierTangent& contact)
      : step_(step),
        contact_(contact),
        scale_(step.workspace().take<double>(step.size())),
        blocks_(step.workspace().take<Block3>(step.size())),
        u_(step.workspace(), contact.nodes()),
        q_(step.workspace(), contact.nodes()) {
    nodes::each(step.size(), [&](std::size_t i) { scale_.data()[i] = std::sqrt(step.inverse_mass(i)); });
    prepare_blocks();
  }

  double scale(std::size_t i) const { return scale_.data()[i]; }

  /// q = (dt D + dt^2 K - dt^2 H) u of all nodes.
  void add_forces(Points u, Points q) {
    const double dt = step_.dt();
    nodes::clear(q);
    const ConstPoints all = u;
    step_.each_force([&](const Force& force, const BodyInStep& b) { force.add_tangent(b.of(all), dt * dt, dt, b.of(q)); });
    contact_.add_product(u, -dt * dt, q);
  }

  double multiply_dot(Vector& p, Vector& q) {
    const Points u = u_, forces = q_;
    nodes::clear(u);
    nodes::each(step_.size(), [&](std::size_t i) { u[i] = scale(i) * p[i]; });
    add_forces(u, forces);
    const double dot = nodes::sum(step_.size(), 0.0, [&](std::size_t i) {
      q[i] = p[i] - scale(i) * forces[i];
      return p[i].dot(q[i]);
    });
    step_.project(q);
    return dot;
  }
  void multiply(Vector& p, Vector& q) {
    step_.project(p);
    multiply_dot(p, q);
  }
  void precondition(const Vector& r, Correction& z) {
    nodes::each(step_.size(), [&](std::size_t i) { z[i].noalias() = blocks_.data()[i] * r[i]; });
  }
  void project(Vector& v) { step_.project(v); }
  double inner_product(const Vector& a, const Vector& b) const {
    return nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return a[i].dot(b[i]); });
  }
  void combine(double a, const Vector& x, double b, Vector& y) const {
    // Values that are multiplied by zero may be uninitialised.
    nodes::each(step_.size(), [&](std::size_t i) {
      const mesh::Point kept = b == 0 ? mesh::Point(mesh::Point::Zero()) : mesh::Point(b * y[i]);
      y[i] = a == 0 ? kept : mesh::Point(a * x[i] + kept);
    });
  }

 private:
  void prepare_blocks() {
    const double dt = step_.dt();
    const auto all_memory = step_.workspace().take<Block3>(contact_.nodes());
    const std::span<Block3> all(all_memory.data(), static_cast<std::size_t>(contact_.nodes()));
    nodes::each(contact_.nodes(), [&](std::size_t i) { all[i].setZero(); });
    step_.each_force([&](const Force& force, const BodyInStep& b) { force.add_diagonal(dt * dt, dt, b.of(all)); });
    contact_.add_diagonal(-dt * dt, all);
    nodes::each(step_.size(), [&](std::size_t i) {
      const double s = scale(i);
      const Block3 block = Block3::Identity() - s * s * all[i];
      const Eigen::LLT<Block3> factor(block);
      const Block3 inverse = factor.solve(Block3::Identity());
      const bool definite = factor.info() == Eigen::Success && inverse.allFinite();
      blocks_.data()[i] = definite ? Block3(0.5 * (inverse + inverse.transpose())) : Block3::Identity();
    });
    // Held nodes: what is left within their projection.
    const HeldNodes& held = step_.held();
    nodes::each(static_cast<Index>(held.nodes().size()), [&](std::size_t k) {
      const Index i = held.nodes()[k];
      const Block3& p = held.projections()[k];
      blocks_.data()[i] = p * blocks_.data()[i] * p;
    });
  }

  const BodyStep& step_;
  BarrierTangent& contact_;
  Workspace::Lease<double> scale_;
  Workspace::Lease<Block3> blocks_;
  ScratchPoints u_, q_;
};

}  // namespace

BarrierStep::BarrierStep(const BodyStep& step)
    : step_(step),
      x0_(step.positions()),
      v0_(step.scratch()),
      v_(step.scratch()),
      force_(step.scratch()),
      damping_(step.scratch()),
      end_{step} {
  step.start(v0_);
  step.each_force([&](Force& force, const BodyInStep& b) { force.begin_step(b.of(x0_), step.dt()); });
}

double BarrierStep::evaluate(ConstPoints x, Points gradient) const {
  const double dt = step_.dt();
  nodes::each(step_.size(), [&](std::size_t i) { v_[i] = (x[i] - x0_[i]) / dt; });
  nodes::clear(force_);
  nodes::clear(damping_);
  double elastic = 0, drag = 0;
  const ConstPoints v = v_;
  step_.each_force([&](const Force& force, const BodyInStep& b) {
    force.add_forces(b.of(x), b.of(force_));
    elastic += force.energy(b.of(x));
    if (force.has_drag())
      drag += force.add_drag(b.of(v), b.of(force_));
    else if (force.damped())
      force.add_damping(b.of(v), 1.0, b.of(damping_));
  });
  using Sums = Eigen::Array<double, 2, 1>;
  const Sums sums = nodes::sum(step_.size(), Sums(Sums::Zero()), [&](std::size_t i) {
    Sums s = Sums::Zero();
    gradient[i].setZero();
    s[1] = v_[i].dot(damping_[i]);
    if (!step_.moves(i)) return s;
    const double mass = 1 / step_.inverse_mass(i);
    const mesh::Point change = v_[i] - v0_[i] - dt * step_.gravity(i);
    gradient[i] = (mass / dt) * change - force_[i] - damping_[i];
    s[0] = mass * change.squaredNorm();
    return s;
  });
  step_.project(gradient);
  return 0.5 * sums[0] + elastic + dt * (drag - 0.5 * sums[1]);
}

void BarrierStep::linearise(ConstPoints x) const {
  const double dt = step_.dt();
  nodes::each(step_.size(), [&](std::size_t i) { v_[i] = (x[i] - x0_[i]) / dt; });
  const ConstPoints v = v_;
  step_.each_force([&](Force& force, const BodyInStep& b) {
    force.linearise(b.of(x), Tangent::definite);
    if (force.has_drag()) force.linearise_drag(b.of(v));
  });
}

bool BarrierStep::solve(BarrierTangent& contact, ConstPoints gradient, Points p, const numerics::SolveOptions& options,
                        numerics::SolveInfo& info) const {
  static_assert(numerics::LinearSystem<BarrierSystem>);
  const auto begin = std::chrono::steady_clock::now();
  const Index n = step_.size();
  const double dt = step_.dt();
  info.history.reserve(static_cast<std::size_t>(options.max_iterations) + 8);
  BarrierSystem system(step_, contact);
  const ScratchPoints b_memory = step_.scratch(), d_memory = step_.scratch(), r_memory = step_.scratch(),
                      p_memory = step_.scratch(), q_memory = step_.scratch(), z_memory = step_.scratch();
  Points b = b_memory, d = d_memory, r = r_memory, s = p_memory, q = q_memory, z = z_memory;
  // What nodes on given ways do to the others.
  const ScratchPoints given(step_.workspace(), contact.nodes()), pushed(step_.workspace(), contact.nodes());
  nodes::copy(p, given);
  const Points own = Points(given).first(n);
  nodes::copy(own, d);
  step_.project(d);
  nodes::each(n, [&](std::size_t i) { own[i] -= d[i]; });
  system.add_forces(given, pushed);
  nodes::each(n, [&](std::size_t i) {
    b[i] = system.scale(i) * (pushed[i] - dt * dt * gradient[i]);
    d[i].setZero();
  });
  step_.project(b);
  numerics::conjugate_gradients<BarrierSystem>(system, {d, b, r, s, q, z}, options, true, info);
  nodes::each(n, [&](std::size_t i) { p[i] = own[i] + system.scale(i) * d[i]; });
  if (!std::isfinite(info.residual)) info.end = numerics::SolveEnd::not_a_number;
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return info.converged;
}

}  // namespace meniscus::solids
