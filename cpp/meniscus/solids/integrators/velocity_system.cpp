#include "meniscus/solids/integrators/velocity_system.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <chrono>
#include <cmath>
#include <limits>

namespace meniscus::solids {

namespace {

/// From that many nodes on, cycles cost less time than the iterations that they save.
constexpr Index many_nodes = 2000;

Preconditioner chosen(Preconditioner wanted, const BodyStep& step) {
  if (wanted != Preconditioner::automatic) return wanted;
  return step.size() < many_nodes ? Preconditioner::blocks : Preconditioner::multigrid;
}

}  // namespace

VelocitySystem::VelocitySystem(const BodyStep& step, double damping, double stiffness, Preconditioner preconditioner,
                               PotentialTerm* term)
    : step_(step),
      damping_(step.damped() ? damping : 0),
      stiffness_(stiffness),
      term_(term),
      preconditioner_(chosen(preconditioner, step)),
      scale_(step.workspace().take<double>(step.size())),
      u_(step.workspace(), step.size()) {
  double* const s = scale_.data();
  nodes::each(step.size(), [&](std::size_t i) { s[i] = std::sqrt(step.inverse_mass(i) / (1 + step.drag(i))); });
  if (preconditioner_ == Preconditioner::multigrid) {
    multigrid_.emplace(step);
    if (multigrid_->useful()) {
      stiffness_size_ = std::sqrt(multigrid_->prepare(damping_, stiffness_, s));
    } else {
      multigrid_.reset();
      preconditioner_ = Preconditioner::blocks;
    }
  }
  if (preconditioner_ == Preconditioner::blocks) {
    blocks_ = step.workspace().take<Block3>(step.size());
    prepare_blocks();
  }
}

bool VelocitySystem::fall_back() {
  if (!multigrid_) return false;
  multigrid_.reset();
  preconditioner_ = Preconditioner::blocks;
  blocks_ = step_.workspace().take<Block3>(step_.size());
  prepare_blocks();
  return true;
}

void VelocitySystem::prepare_blocks() {
  Block3* const blocks = blocks_.data();
  nodes::each(step_.size(), [&](std::size_t i) { blocks[i].setZero(); });
  const std::span<Block3> all(blocks, static_cast<std::size_t>(step_.size()));
  step_.each_force([&](const Force& force, const BodyInStep& b) { force.add_diagonal(stiffness_, damping_, b.of(all)); });
  if (term_ != nullptr) term_->add_diagonal(-stiffness_, all);
  // Held nodes first: what is left of a block within the projection, made invertible across it.
  const HeldNodes& held_nodes = step_.held();
  const auto invert = [&](std::size_t i, const Block3& p) {
    const double s = scale(i);
    const double size = s == 0 ? 0.0 : (p * blocks[i] * p).diagonal().cwiseAbs().maxCoeff();
    Block3 block = Block3::Identity() - s * s * blocks[i];
    block = (p * block * p + (Block3::Identity() - p)).eval();
    const Eigen::LLT<Block3> factor(block);
    const bool definite = factor.info() == Eigen::Success && block.allFinite();
    blocks[i] = p;
    // If the block is not positive definite, its eigenvalues without their signs serve.
    if (definite) {
      const Block3 inverse = factor.solve(Block3::Identity());
      if (inverse.allFinite()) blocks[i] = p * (0.5 * (inverse + inverse.transpose())) * p;
    } else if (block.allFinite()) {
      const Eigen::SelfAdjointEigenSolver<Block3> eigen(block);
      const mesh::Point values = eigen.eigenvalues().cwiseAbs().cwiseMax(1.0).cwiseInverse();
      blocks[i] = p * (eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose()) * p;
    }
    if (s == 0) blocks[i].setZero();
    return size * size;
  };
  const Block3 identity = Block3::Identity();
  const double free = nodes::sum(
      step_.size(), 0.0, [&](std::size_t i) { return step_.kind(i) == ConstraintKind::free ? invert(i, identity) : 0.0; });
  const double held = nodes::sum(static_cast<Index>(held_nodes.nodes().size()), 0.0,
                                 [&](std::size_t k) { return invert(held_nodes.nodes()[k], held_nodes.projections()[k]); });
  stiffness_size_ = std::sqrt(free + held);
}

void VelocitySystem::add_forces(ConstPoints u, Points q) const {
  step_.each_force([&](const Force& force, const BodyInStep& b) { force.add_tangent(b.of(u), stiffness_, damping_, b.of(q)); });
  if (term_ != nullptr) term_->add_product(u, -stiffness_, q);
}

double VelocitySystem::multiply_dot(Vector& p, Vector& q) {
  if (options_ != nullptr && step_.late()) options_->max_iterations = 0;
  const Points u = u_;
  nodes::each(step_.size(), [&](std::size_t i) {
    u[i] = scale(i) * p[i];
    q[i].setZero();
  });
  add_forces(u, q);
  const double dot = nodes::sum(step_.size(), 0.0, [&](std::size_t i) {
    q[i] = (p[i] - scale(i) * q[i]).eval();
    return p[i].dot(q[i]);
  });
  step_.project(q);
  return dot;
}

void VelocitySystem::multiply(Vector& p, Vector& q) {
  // A no-op for what the iteration hands over; it makes the operator symmetric for all vectors.
  step_.project(p);
  multiply_dot(p, q);
}

void VelocitySystem::precondition(const Vector& r, Correction& z) {
  if (preconditioner_ == Preconditioner::none) {
    nodes::copy(r, z);
    return;
  }
  if (multigrid_) {
    multigrid_->precondition(r, z);
    return;
  }
  const Block3* const blocks = blocks_.data();
  nodes::each(step_.size(), [&](std::size_t i) { z[i].noalias() = blocks[i] * r[i]; });
}

double VelocitySystem::inner_product(const Vector& a, const Vector& b) const {
  return nodes::sum(step_.size(), 0.0, [&](std::size_t i) { return a[i].dot(b[i]); });
}

void VelocitySystem::combine(double a, const Vector& x, double b, Vector& y) const {
  // Values that are multiplied by zero may be uninitialised.
  if (b == 0 && a == 0)
    nodes::clear(y);
  else if (b == 0)
    nodes::each(step_.size(), [&](std::size_t i) { y[i] = a * x[i]; });
  else
    nodes::each(step_.size(), [&](std::size_t i) { y[i] = (a * x[i] + b * y[i]).eval(); });
}

double VelocitySystem::reduce_residual(double alpha, const Vector& q, Vector& r) const {
  return nodes::sum(step_.size(), 0.0, [&](std::size_t i) {
    r[i] -= alpha * q[i];
    return r[i].squaredNorm();
  });
}

void VelocitySystem::advance(double alpha, double beta, const Vector& z, Vector& p, Vector& x) const {
  nodes::each(step_.size(), [&](std::size_t i) {
    x[i] += alpha * p[i];
    p[i] = (z[i] + beta * p[i]).eval();
  });
}

namespace {

/// Whether forces move all nodes of a body in all directions.
bool moves_freely(const BodyStep& step, const BodyInStep& body) {
  const auto stopped = [&](std::size_t i) {
    return step.kind(body.node(i)) != ConstraintKind::free || !step.moves(body.node(i));
  };
  return nodes::first(body.size(), stopped) == body.size();
}

/// Gives bodies on which nothing from outside acts the momentum back that the residual r of an unfinished solve is: the same
/// velocity for all nodes. Forces that a motion of the whole body changes come from outside.
void return_lost_momentum(const BodyStep& step, const VelocitySystem& system, ConstPoints r, Points v, Points change,
                          Points pulled) {
  nodes::clear(change);
  nodes::clear(pulled);
  bool any = false;
  for (const BodyInStep& b : step.bodies()) {
    if (b.size() == 0 || !moves_freely(step, b)) continue;
    const mesh::Point lost = nodes::sum(b.size(), mesh::Point(mesh::Point::Zero()),
                                        [&](std::size_t i) { return mesh::Point(r[b.node(i)] / system.scale(b.node(i))); });
    const double mass = nodes::sum(b.size(), 0.0, [&](std::size_t i) { return 1 / step.inverse_mass(b.node(i)); });
    const Points own = b.of(change);
    nodes::each(b.size(), [&](std::size_t i) { own[i] = lost / mass; });
    any = any || !lost.isZero(0.0);
  }
  if (!any) return;
  system.add_forces(change, pulled);
  for (const BodyInStep& b : step.bodies()) {
    const Points own = b.of(change), out = b.of(v);
    if (b.size() == 0 || own[0].isZero(0.0)) continue;
    const Points forces = b.of(pulled);
    const mesh::Point outside = nodes::sum(b.size(), mesh::Point(mesh::Point::Zero()), [&](std::size_t i) { return forces[i]; });
    const double mass = nodes::sum(b.size(), 0.0, [&](std::size_t i) { return 1 / step.inverse_mass(b.node(i)); });
    if (outside.norm() > 1e-6 * mass * own[0].norm()) continue;
    nodes::each(b.size(), [&](std::size_t i) { out[i] += own[i]; });
  }
}

/// Whether a residual r is as small as rounding errors of the product with the solution x, of a size relative to the largest
/// entries of the matrix: then x solves a system that differs from the given one by rounding, and no solve comes nearer. What is
/// left is of the highest frequencies, so that the product with it tells their size. Overwrites `q`.
///
/// Source: Higham, "Accuracy and stability of numerical algorithms", 2002, section 7.1 (backward errors).
bool is_rounding(VelocitySystem& system, Points x, Points r, Points q) {
  constexpr double unit = 64 * std::numeric_limits<double>::epsilon();
  const double size = std::sqrt(system.inner_product(r, r));
  system.multiply(r, q);
  return size * size <= unit * std::sqrt(system.inner_product(q, q) * system.inner_product(x, x));
}

}  // namespace

bool solve_velocities(const BodyStep& step, double damping, double stiffness, ConstPoints u, Points v,
                      const numerics::SolveOptions& options, Preconditioner preconditioner, numerics::SolveInfo& info) {
  static_assert(numerics::LinearSystem<VelocitySystem>);
  const auto begin = std::chrono::steady_clock::now();
  const Index n = step.size();
  info.history.reserve(static_cast<std::size_t>(options.max_iterations) + 8);
  info.history.clear();
  info.iterations = 0;
  info.residual = 0;
  info.seconds = 0;
  if ((damping == 0 || !step.damped()) && (stiffness == 0 || !step.has_forces())) {
    // The matrix is that of the masses. What is held, and infinite masses, keep the velocities that v has.
    const ScratchPoints free = step.scratch();
    nodes::each(n, [&](std::size_t i) { free[i] = u[i] - v[i]; });
    step.project(free);
    nodes::each(n, [&](std::size_t i) {
      // Exactly u where nothing is held.
      if (step.kind(i) == ConstraintKind::free)
        v[i] = step.inverse_mass(i) > 0 ? u[i] : v[i];
      else
        v[i] += free[i];
    });
    info.converged = true;
    info.end = numerics::SolveEnd::converged;
    return true;
  }
  VelocitySystem system(step, damping, stiffness, preconditioner);
  const ScratchPoints b_memory = step.scratch(), x_memory = step.scratch(), r_memory = step.scratch(), p_memory = step.scratch(),
                      q_memory = step.scratch(), z_memory = step.scratch();
  Points b = b_memory, x = x_memory, r = r_memory, p = p_memory, q = q_memory, z = z_memory;
  // The part of v that is prescribed, in r for now, and the rest, in x.
  nodes::copy(v, x);
  system.project(x);
  nodes::each(n, [&](std::size_t i) {
    r[i] = v[i] - x[i];
    q[i].setZero();
  });
  system.add_forces(r, q);
  nodes::each(n, [&](std::size_t i) {
    const double s = system.scale(i), root = s > 0 ? 1 / s : 0.0;
    b[i] = root * u[i] + s * q[i];
    x[i] *= root;
    v[i] = r[i];
  });
  system.project(b);
  numerics::SolveOptions limited = options;
  system.end_when_late(limited);
  numerics::conjugate_gradients<VelocitySystem>(system, {x, b, r, p, q, z}, limited, false, info);
  const bool unfit = info.end == numerics::SolveEnd::indefinite_preconditioner || info.end == numerics::SolveEnd::not_a_number;
  if (unfit && system.fall_back()) {
    const int spent = info.iterations;
    numerics::conjugate_gradients<VelocitySystem>(system, {x, b, r, p, q, z}, limited, false, info);
    info.iterations += spent;
  }
  nodes::each(n, [&](std::size_t i) { v[i] += system.scale(i) * x[i]; });
  if (info.end == numerics::SolveEnd::round_off) info.converged = is_rounding(system, x, r, q);
  const bool solved = std::isfinite(info.residual) && info.end != numerics::SolveEnd::zero_right_hand_side;
  if (solved && !step.dragged()) return_lost_momentum(step, system, r, v, p, q);
  if (!std::isfinite(info.residual)) info.end = numerics::SolveEnd::not_a_number;
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return info.converged;
}

}  // namespace meniscus::solids
