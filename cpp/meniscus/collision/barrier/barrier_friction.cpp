#include "meniscus/collision/barrier/barrier_friction.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::collision {
namespace {

double coefficient(PairKind kind, const Stencil& s, std::span<const double> friction) {
  const auto mu = [&](std::size_t k) { return friction[s[k]]; };
  if (kind == PairKind::vertex_face) return std::sqrt(mu(0) * (mu(1) + mu(2) + mu(3)) / 3);
  return 0.5 * std::sqrt((mu(0) + mu(1)) * (mu(2) + mu(3)));
}

}  // namespace

std::array<double, 3> smooth_friction(double y, double slip) {
  if (y >= slip) return {y, 1 / y, 0};
  const double s = y / slip;
  return {y * s * (1 - s / 3) + slip / 3, (2 - s) / slip, 2 * (1 - s) / slip};
}

Eigen::Matrix2d friction_curvature(const Eigen::Vector2d& u, double slip) {
  const double y = u.norm();
  const auto f = smooth_friction(y, slip);
  Eigen::Matrix2d h = f[1] * Eigen::Matrix2d::Identity();
  if (y > 0) {
    const Eigen::Vector2d along = u / y;
    h += (f[2] - f[1]) * (along * along.transpose());
  }
  return h;
}

LaggedFriction LaggedFriction::across(const mesh::Point& gap, double force) {
  const mesh::Point up = gap.normalized();
  Index least = 0;
  up.cwiseAbs().minCoeff(&least);
  const mesh::Point first = up.cross(mesh::Point::Unit(least)).normalized();
  LaggedFriction f{{}, force};
  f.tangents << first, up.cross(first);
  return f;
}

double LaggedFriction::energy(const mesh::Point& u, double slip) const {
  const Eigen::Vector2d s = tangents.transpose() * u;
  return force * smooth_friction(s.norm(), slip)[0];
}

mesh::Point LaggedFriction::gradient(const mesh::Point& u, double slip) const {
  const Eigen::Vector2d s = tangents.transpose() * u;
  return (force * smooth_friction(s.norm(), slip)[1]) * (tangents * s);
}

Eigen::Matrix3d LaggedFriction::curvature(const mesh::Point& u, double slip) const {
  return force * (tangents * friction_curvature(tangents.transpose() * u, slip) * tangents.transpose());
}

void BarrierFriction::clear() {
  pairs_.clear();
  stencils_.clear();
  curvature_.clear();
  sums_.set(stencils_, vertices_);
}

void BarrierFriction::lag(const Barrier& barrier, std::span<const mesh::Point> x, double stiffness,
                          std::span<const double> friction) {
  vertices_ = barrier.vertices();
  require(x.size() == vertices_ && friction.size() == vertices_, "the surface has ", vertices_, " vertices, not ", x.size(),
          ", and there must be as many coefficients of friction, not ", friction.size());
  clear();
  for (const BarrierPair& p : barrier.pairs()) {
    const double mu = coefficient(p.form.kind, p.vertices, friction);
    if (mu == 0) continue;
    const PairPoints at = pair_points_of(p.vertices, x);
    const SquaredDistance d = squared_distance(p.form.kind, at);
    const double force = mu * stiffness * pair_load(p.form, d, at);
    if (!(force > 0) || !std::isfinite(force)) continue;
    pairs_.push_back({d.weights, LaggedFriction::across(d.gap, force)});
    stencils_.push_back(p.vertices);
  }
  sums_.set(stencils_, vertices_);
}

void BarrierFriction::require_size(std::size_t size) const {
  require(size == vertices_ || pairs_.empty(), "the surface has ", vertices_, " vertices, not ", size);
}

mesh::Point BarrierFriction::moved(std::size_t i, std::span<const mesh::Point> u) const {
  mesh::Point sum = mesh::Point::Zero();
  for (std::size_t k = 0; k < 4; ++k) sum += pairs_[i].weights[k] * u[stencils_[i][k]];
  return sum;
}

double BarrierFriction::energy(std::span<const mesh::Point> u, double slip) const {
  require_size(u.size());
  return parallel_reduce(
      0, size(), 256, 0.0,
      [&](Index b, Index e) {
        double sum = 0;
        for (Index i = b; i < e; ++i) sum += pairs_[i].contact.energy(moved(i, u), slip);
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void BarrierFriction::add_gradient(std::span<const mesh::Point> u, double slip, std::span<mesh::Point> out) {
  require_size(u.size());
  require_size(out.size());
  sums_.add(
      [&](std::size_t i) {
        const Pair& p = pairs_[i];
        const mesh::Point force = p.contact.gradient(moved(i, u), slip);
        PairVector g;
        for (std::size_t k = 0; k < 4; ++k) g.segment<3>(static_cast<Index>(3 * k)) = p.weights[k] * force;
        return g;
      },
      out);
}

void BarrierFriction::linearise(std::span<const mesh::Point> u, double slip) {
  require_size(u.size());
  curvature_.resize(pairs_.size());
  parallel_for(0, size(), 256, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) curvature_[i] = pairs_[i].contact.curvature(moved(i, u), slip);
  });
}

void BarrierFriction::add_product(std::span<const mesh::Point> u, std::span<mesh::Point> out) {
  require_size(u.size());
  require_size(out.size());
  require(curvature_.size() == pairs_.size(), "friction has not been linearised");
  sums_.add(
      [&](std::size_t i) {
        const Pair& p = pairs_[i];
        const mesh::Point force = curvature_[i] * moved(i, u);
        PairVector g;
        for (std::size_t k = 0; k < 4; ++k) g.segment<3>(static_cast<Index>(3 * k)) = p.weights[k] * force;
        return g;
      },
      out);
}

void BarrierFriction::add_diagonal(std::span<Eigen::Matrix3d> out) const {
  require_size(out.size());
  require(curvature_.size() == pairs_.size(), "friction has not been linearised");
  sums_.add_blocks(
      [&](std::size_t i, std::size_t k) -> Eigen::Matrix3d {
        return (pairs_[i].weights[k] * pairs_[i].weights[k]) * curvature_[i];
      },
      out);
}

Index BarrierFriction::nbytes() const {
  const auto bytes = []<class T>(const std::vector<T>& v) { return static_cast<Index>(v.capacity() * sizeof(T)); };
  return bytes(pairs_) + bytes(stencils_) + bytes(curvature_) + sums_.nbytes();
}

}  // namespace meniscus::collision
