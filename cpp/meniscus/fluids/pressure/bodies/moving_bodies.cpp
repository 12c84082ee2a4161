#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>
#include <numeric>

namespace meniscus::fluids {
namespace {

/// Constraints that differ by less than this, squared, from what others say already are the same.
constexpr double least_independent = 1e-10;

/// A matrix among the freedoms that bodies have; ones on the diagonal of the others.
Matrix6 among(const Matrix6& a, const Vector6& free) {
  Matrix6 out = free.asDiagonal() * a * free.asDiagonal();
  for (int k = 0; k < 6; ++k)
    if (free[k] == 0) out(k, k) = 1;
  return out;
}

Matrix6 inertia_of(const MovingBody& body) {
  Matrix6 s = body.added;
  s.topLeftCorner<3, 3>() += body.mass * Eigen::Matrix3d::Identity();
  s.bottomRightCorner<3, 3>() += body.inertia;
  return s;
}

}  // namespace

MovingBodies::MovingBodies(std::vector<MovingBody> bodies, std::vector<BodyConstraint> constraints, const Vector6& free)
    : bodies_(std::move(bodies)), velocities_(6 * count()), constraints_(std::move(constraints)), free_(free) {
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    first_.push_back(velocities_);
    if (const auto& soft = bodies_[b].soft) {
      require(bodies_[b].mass > 0, "body ", b, " deforms, and must have a mass above zero");
      velocities_ += soft->velocities();
      of_node_.insert(of_node_.end(), soft->velocities() / 3, static_cast<std::int32_t>(b));
    }
    const MovingBody& body = bodies_[b];
    require(body.mass >= 0 && std::isfinite(body.mass) && body.inertia.allFinite() && body.center.allFinite() &&
                body.velocity.allFinite() && body.carried.allFinite() && body.predicted.allFinite() && body.impulse.allFinite() &&
                body.hydrostatic.allFinite(),
            "body ", b, " must have a mass that is not negative, and finite values");
    if (body.mass > 0)
      require(Eigen::LLT<Matrix6>(among(inertia_of(body), free_)).info() == Eigen::Success, "the inertia of body ", b,
              " must be positive definite");
  }
  for (const BodyConstraint& c : constraints_)
    for (const std::int32_t b : c.bodies)
      require(b >= -1 && b < count(), "constraints must be between bodies 0 to ", count() - 1, ", or -1 for the world");
  begin();
}

void MovingBodies::begin() {
  attached_.assign(bodies_.size(), Matrix6::Zero());
  weight_.assign(bodies_.size(), Vector6::Zero());
  after_.assign(bodies_.size(), Vector6::Zero());
  impulses_.assign(bodies_.size(), Vector6::Zero());
  for (const MovingBody& body : bodies_)
    if (body.soft) body.soft->begin();
}

void MovingBodies::attach(Index body, const Vector6& row, double mass, double weight, const PlaceNodes& place, int axis) {
  attached_[body] += mass * row * row.transpose();
  if (bodies_[body].soft)
    bodies_[body].soft->push(place, axis, weight);
  else
    weight_[body] += weight * row;
}

void MovingBodies::factor() {
  inverse_.assign(bodies_.size(), Matrix6::Zero());
  std::vector<double> f(velocities_, 0.0);
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const MovingBody& body = bodies_[b];
    if (body.mass == 0) continue;
    const Matrix6 own = inertia_of(body);
    // The least of (own + attached) / own: fluid of negative mass may exceed what a light body weighs.
    const Eigen::GeneralizedSelfAdjointEigenSolver<Matrix6> parts(free_.asDiagonal() * attached_[b] * free_.asDiagonal(),
                                                                  among(own, free_), Eigen::EigenvaluesOnly);
    const double least = parts.eigenvalues()[0];
    if (least < least_inertia - 1) attached_[b] *= (least_inertia - 1) / least;
    if (body.soft) {
      body.soft->factor(body.center, own, attached_[b], body.carried);
      continue;
    }
    inverse_[b] = free_.asDiagonal() * among(own + attached_[b], free_).inverse() * free_.asDiagonal();
    inverse_[b] = (0.5 * (inverse_[b] + inverse_[b].transpose())).eval();
    // What the attached fluid brings along.
    weight_[b] += attached_[b] * (body.carried - body.velocity);
    Eigen::Map<Vector6>(f.data() + 6 * b) = body.impulse + weight_[b] + own * body.predicted;
  }
  find_islands();
  change_.assign(velocities_, 0.0);
  respond(f, change_);
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    if (const auto& soft = bodies_[b].soft)
      std::copy(soft->without_pressure().begin(), soft->without_pressure().end(), change_.begin() + first_[b]);
}

void MovingBodies::find_islands() {
  islands_.clear();
  if (constraints_.empty()) return;
  std::vector<std::int32_t> root(bodies_.size());
  std::iota(root.begin(), root.end(), 0);
  const auto root_of = [&](std::int32_t b) { return numerics::root_of(root.data(), b); };
  const auto yields = [&](std::int32_t b) { return b >= 0 && bodies_[b].mass > 0 && !bodies_[b].soft; };
  for (const BodyConstraint& c : constraints_)
    if (yields(c.bodies[0]) && yields(c.bodies[1])) numerics::unite(root.data(), c.bodies[0], c.bodies[1]);
  std::vector<std::int32_t> island(bodies_.size(), -1), place(bodies_.size(), -1);
  std::vector<std::vector<std::size_t>> held;
  for (std::size_t k = 0; k < constraints_.size(); ++k)
    for (const std::int32_t b : constraints_[k].bodies) {
      if (!yields(b)) continue;
      std::int32_t& number = island[root_of(b)];
      if (number < 0) {
        number = static_cast<std::int32_t>(islands_.size());
        islands_.emplace_back();
        held.emplace_back();
      }
      if (held[number].empty() || held[number].back() != k) held[number].push_back(k);
    }
  for (std::int32_t b = 0; b < count(); ++b) {
    if (!yields(b)) continue;
    const std::int32_t number = island[root_of(b)];
    if (number < 0) continue;
    place[b] = static_cast<std::int32_t>(islands_[number].bodies.size());
    islands_[number].bodies.push_back(b);
  }
  for (std::size_t k = 0; k < islands_.size(); ++k) hold(islands_[k], place, held[k]);
}

void MovingBodies::hold(Island& island, std::span<const std::int32_t> place, std::span<const std::size_t> constraints) const {
  const auto n = static_cast<Eigen::Index>(6 * island.bodies.size()), m = static_cast<Eigen::Index>(constraints.size());
  Eigen::MatrixXd root = Eigen::MatrixXd::Zero(n, n), rows = Eigen::MatrixXd::Zero(n, m);
  for (std::size_t k = 0; k < island.bodies.size(); ++k) {
    const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(inverse_[island.bodies[k]]);
    root.block<6, 6>(static_cast<Eigen::Index>(6 * k), static_cast<Eigen::Index>(6 * k)) =
        eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
  }
  for (Eigen::Index c = 0; c < m; ++c) {
    const BodyConstraint& constraint = constraints_[constraints[c]];
    for (std::size_t end = 0; end < 2; ++end) {
      const std::int32_t b = constraint.bodies[end];
      if (b >= 0 && bodies_[b].mass > 0 && !bodies_[b].soft) rows.col(c).segment<6>(6 * place[b]) += constraint.rows[end];
    }
  }
  rows = (root.transpose() * rows).eval();
  for (Eigen::Index c = 0; c < m; ++c)
    if (const double length = rows.col(c).norm(); length > 0) rows.col(c) /= length;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(rows * rows.transpose());
  const Eigen::VectorXd& values = eigen.eigenvalues();
  Eigen::Index free = 0;
  while (free < n && values[free] < least_independent * values[n - 1]) ++free;
  const Eigen::MatrixXd left = root * eigen.eigenvectors().leftCols(free);
  island.response = left * left.transpose();
}

int MovingBodies::respond(std::span<const double> f, std::span<double> v) {
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    Eigen::Map<Vector6>(v.data() + 6 * b) = inverse_[b] * Eigen::Map<const Vector6>(f.data() + 6 * b);
  for (const Island& island : islands_) {
    const auto n = static_cast<Eigen::Index>(6 * island.bodies.size());
    Eigen::VectorXd pushed(n);
    for (std::size_t k = 0; k < island.bodies.size(); ++k)
      pushed.segment<6>(static_cast<Eigen::Index>(6 * k)) = Eigen::Map<const Vector6>(f.data() + 6 * island.bodies[k]);
    const Eigen::VectorXd moved = island.response * pushed;
    for (std::size_t k = 0; k < island.bodies.size(); ++k)
      Eigen::Map<Vector6>(v.data() + 6 * island.bodies[k]) = moved.segment<6>(static_cast<Eigen::Index>(6 * k));
  }
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    if (const auto& soft = bodies_[b].soft) {
      const auto first = first_[b], n = soft->velocities();
      soft->respond(f.subspan(first, n), v.subspan(first, n));
    }
  return 0;
}

Vector6 MovingBodies::mode(Index velocity) const {
  if (velocity < 6 * count()) return Vector6::Unit(static_cast<Eigen::Index>(velocity % 6));
  const std::int32_t b = body_of(velocity);
  return bodies_[b].soft->mode(velocity - first_[b]);
}

double MovingBodies::yield_alone(Index velocity) const {
  if (velocity < 6 * count()) return 0;
  const std::int32_t b = body_of(velocity);
  return bodies_[b].soft->yield_alone(velocity - first_[b]);
}

double MovingBodies::mobility(Index body, int k) {
  if (bodies_[body].soft) return bodies_[body].soft->mobility(k);
  unit_.assign(velocities_, 0.0);
  answer_.resize(unit_.size());
  unit_[6 * body + k] = 1;
  respond(unit_, answer_);
  return answer_[6 * body + k];
}

void MovingBodies::finish(std::span<const double> pressure) {
  std::vector<double> v(pressure.size());
  respond(pressure, v);
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    if (const auto& soft = bodies_[b].soft) {
      soft->finish(pressure.subspan(first_[b], soft->velocities()));
      after_[b] = soft->motion_after();
      impulses_[b] = soft->impulse();
      continue;
    }
    const Vector6 change = Eigen::Map<const Vector6>(change_.data() + 6 * b) + Eigen::Map<const Vector6>(v.data() + 6 * b);
    after_[b] = bodies_[b].velocity + change - bodies_[b].predicted;
    const Vector6 pushed = weight_[b] + Eigen::Map<const Vector6>(pressure.data() + 6 * b) - attached_[b] * change;
    impulses_[b] = free_.cwiseProduct(pushed);
  }
}

}  // namespace meniscus::fluids
