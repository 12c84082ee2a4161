#include "meniscus/solids/deformable_body.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::solids {

DeformableBody::DeformableBody(ConstPoints positions, std::span<const double> masses)
    : positions_(static_cast<Index>(3 * positions.size())),
      velocities_(static_cast<Index>(3 * positions.size())),
      masses_(static_cast<Index>(masses.size())),
      constraints_(static_cast<Index>(positions.size())) {
  static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
  require(masses.size() == positions.size(), "there must be one mass per node, not ", masses.size(), " for ", positions.size());
  require(positions.size() <= 2147483647, "there are too many nodes: ", positions.size());
  mesh::require_finite(positions, "positions");
  for (std::size_t i = 0; i < masses.size(); ++i)
    require(masses[i] > 0, "masses must be positive, but that of node ", i, " is ", masses[i]);
  std::copy(positions.begin(), positions.end(), this->positions().begin());
  std::fill(velocities_.begin(), velocities_.end(), 0.0);
  std::copy(masses.begin(), masses.end(), masses_.begin());
}

void DeformableBody::set_gravity(const mesh::Point& g) {
  require(g.allFinite(), "gravity must be finite");
  gravity_ = g;
}

void DeformableBody::set_time(double time) {
  require(std::isfinite(time), "time must be finite, not ", time);
  time_ = time;
}

void DeformableBody::add(std::shared_ptr<Force> force) {
  require(force != nullptr, "there is no force");
  require(force->nodes() <= size(), "the force acts on node ", force->nodes() - 1, ", but the body has ", size(), " nodes");
  require(std::find(forces_.begin(), forces_.end(), force) == forces_.end(), "the body has this force already");
  forces_.push_back(std::move(force));
}

void DeformableBody::remove(const std::shared_ptr<Force>& force) {
  const auto found = std::find(forces_.begin(), forces_.end(), force);
  require(found != forces_.end(), "the body has no such force");
  forces_.erase(found);
}

bool DeformableBody::damped() const {
  return std::any_of(forces_.begin(), forces_.end(), [](const auto& force) { return force->damped(); });
}

void DeformableBody::forces_at(ConstPoints x, ConstPoints v, Points f) const {
  nodes::clear(f);
  for (const auto& force : forces_) {
    force->add_forces(x, f);
    if (v.empty() || !force->damped()) continue;
    force->linearise(x, Tangent::frozen);
    force->add_damping(v, 1.0, f);
  }
}

double DeformableBody::elastic_energy(ConstPoints x) const {
  double sum = 0;
  for (const auto& force : forces_) sum += force->energy(x);
  return sum;
}

BodyEnergy DeformableBody::energy() const {
  const auto x = positions();
  const auto v = velocities();
  const auto m = masses();
  BodyEnergy e;
  e.kinetic = 0.5 * nodes::sum(size(), 0.0, [&](std::size_t i) { return std::isinf(m[i]) ? 0.0 : m[i] * v[i].squaredNorm(); });
  e.elastic = elastic_energy(x);
  e.gravity = -nodes::sum(size(), 0.0, [&](std::size_t i) { return std::isinf(m[i]) ? 0.0 : m[i] * gravity_.dot(x[i]); });
  return e;
}

mesh::Point DeformableBody::momentum() const {
  const auto v = velocities();
  const auto m = masses();
  return nodes::sum(size(), mesh::Point(mesh::Point::Zero()), [&](std::size_t i) {
    return std::isinf(m[i]) ? mesh::Point(mesh::Point::Zero()) : mesh::Point(m[i] * v[i]);
  });
}

mesh::Point DeformableBody::angular_momentum(const mesh::Point& about) const {
  const auto x = positions();
  const auto v = velocities();
  const auto m = masses();
  return nodes::sum(size(), mesh::Point(mesh::Point::Zero()), [&](std::size_t i) {
    return std::isinf(m[i]) ? mesh::Point(mesh::Point::Zero()) : mesh::Point((x[i] - about).cross(m[i] * v[i]));
  });
}

void DeformableBody::keep_previous(double dt) {
  if (previous_.size() != positions_.size()) previous_ = Block<double>(positions_.size());
  previous_dt_ = dt;
}

std::size_t DeformableBody::nbytes() const {
  const Index doubles = positions_.size() + velocities_.size() + masses_.size() + previous_.size();
  return static_cast<std::size_t>(doubles) * sizeof(double) + constraints_.nbytes();
}

}  // namespace meniscus::solids
