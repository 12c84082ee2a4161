#include "meniscus/fluids/pressure/moving_bodies.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

namespace meniscus::fluids {
namespace {

/// Of the diagonal of the constraints' matrix: what several constraints on one freedom give way, so that none of them is one too
/// many.
constexpr double give = 1e-9;

/// A matrix among the freedoms that bodies have; ones on the diagonal of the others.
Matrix6 among(const Matrix6& a, const Vector6& free) {
  Matrix6 out = free.asDiagonal() * a * free.asDiagonal();
  for (int k = 0; k < 6; ++k)
    if (free[k] == 0) out(k, k) = 1;
  return out;
}

Matrix6 inertia_of(const MovingBody& body) {
  Matrix6 s = Matrix6::Zero();
  s.topLeftCorner<3, 3>() = body.mass * Eigen::Matrix3d::Identity();
  s.bottomRightCorner<3, 3>() = body.inertia;
  return s;
}

}  // namespace

MovingBodies::MovingBodies(std::vector<MovingBody> bodies, std::vector<BodyConstraint> constraints, const Vector6& free)
    : bodies_(std::move(bodies)), constraints_(std::move(constraints)), free_(free) {
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const MovingBody& body = bodies_[b];
    require(body.mass >= 0 && std::isfinite(body.mass) && body.inertia.allFinite() && body.center.allFinite() &&
                body.velocity.allFinite() && body.carried.allFinite() && body.impulse.allFinite() && body.hydrostatic.allFinite(),
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
}

void MovingBodies::attach(Index body, const Vector6& row, double mass, double weight) {
  attached_[body] += mass * row * row.transpose();
  weight_[body] += weight * row;
}

void MovingBodies::factor() {
  inverse_.assign(bodies_.size(), Matrix6::Zero());
  std::vector<double> f(6 * bodies_.size(), 0.0);
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const MovingBody& body = bodies_[b];
    if (body.mass == 0) continue;
    const Matrix6 own = inertia_of(body);
    // The least of (own + attached) / own: fluid of negative mass may exceed what a light body weighs.
    const Eigen::GeneralizedSelfAdjointEigenSolver<Matrix6> parts(free_.asDiagonal() * attached_[b] * free_.asDiagonal(),
                                                                  among(own, free_), Eigen::EigenvaluesOnly);
    const double least = parts.eigenvalues()[0];
    if (least < least_inertia - 1) attached_[b] *= (least_inertia - 1) / least;
    inverse_[b] = free_.asDiagonal() * among(own + attached_[b], free_).inverse() * free_.asDiagonal();
    inverse_[b] = (0.5 * (inverse_[b] + inverse_[b].transpose())).eval();
    // What the attached fluid brings along.
    weight_[b] += attached_[b] * (body.carried - body.velocity);
    Eigen::Map<Vector6>(f.data() + 6 * b) = body.impulse + weight_[b];
  }
  factor_constraints();
  change_.assign(6 * bodies_.size(), 0.0);
  respond(f, change_);
}

void MovingBodies::factor_constraints() {
  if (constraints_.empty()) return;
  std::vector<std::vector<std::pair<int, Vector6>>> of_body(bodies_.size());
  for (std::size_t k = 0; k < constraints_.size(); ++k)
    for (std::size_t end = 0; end < 2; ++end)
      if (const std::int32_t b = constraints_[k].bodies[end]; b >= 0)
        of_body[b].emplace_back(static_cast<int>(k), constraints_[k].rows[end]);
  std::vector<Eigen::Triplet<double>> entries;
  std::vector<double> diagonal(constraints_.size(), 0.0);
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    for (const auto& [k, row] : of_body[b]) {
      const Vector6 moved = inverse_[b] * row;
      for (const auto& [l, other] : of_body[b]) {
        entries.emplace_back(k, l, other.dot(moved));
        if (k == l) diagonal[k] += other.dot(moved);
      }
    }
  for (std::size_t k = 0; k < diagonal.size(); ++k)
    entries.emplace_back(static_cast<int>(k), static_cast<int>(k), diagonal[k] > 0 ? give * diagonal[k] : 1.0);
  const auto n = static_cast<Eigen::Index>(constraints_.size());
  Eigen::SparseMatrix<double> matrix(n, n);
  matrix.setFromTriplets(entries.begin(), entries.end());
  held_.compute(matrix);
  require(held_.info() == Eigen::Success, "the constraints of the bodies could not be factored");
}

void MovingBodies::respond_freely(std::span<const double> f, std::span<double> v) const {
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    Eigen::Map<Vector6>(v.data() + 6 * b) = inverse_[b] * Eigen::Map<const Vector6>(f.data() + 6 * b);
}

int MovingBodies::respond(std::span<const double> f, std::span<double> v) {
  respond_freely(f, v);
  if (constraints_.empty()) return 0;
  Eigen::VectorXd speeds = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(constraints_.size()));
  for (std::size_t k = 0; k < constraints_.size(); ++k)
    for (std::size_t end = 0; end < 2; ++end)
      if (const std::int32_t b = constraints_[k].bodies[end]; b >= 0)
        speeds[static_cast<Eigen::Index>(k)] += constraints_[k].rows[end].dot(Eigen::Map<const Vector6>(v.data() + 6 * b));
  const Eigen::VectorXd reaction = held_.solve(speeds);
  for (std::size_t k = 0; k < constraints_.size(); ++k)
    for (std::size_t end = 0; end < 2; ++end)
      if (const std::int32_t b = constraints_[k].bodies[end]; b >= 0)
        Eigen::Map<Vector6>(v.data() + 6 * b) -=
            reaction[static_cast<Eigen::Index>(k)] * (inverse_[b] * constraints_[k].rows[end]);
  return 0;
}

void MovingBodies::finish(std::span<const double> pressure) {
  std::vector<double> v(pressure.size());
  respond(pressure, v);
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    const Vector6 change = Eigen::Map<const Vector6>(change_.data() + 6 * b) + Eigen::Map<const Vector6>(v.data() + 6 * b);
    after_[b] = bodies_[b].velocity + change;
    const Vector6 pushed = weight_[b] + Eigen::Map<const Vector6>(pressure.data() + 6 * b) - attached_[b] * change;
    impulses_[b] = free_.cwiseProduct(pushed);
  }
}

}  // namespace meniscus::fluids
