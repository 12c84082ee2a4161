#include "meniscus/solids/external_forces.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {

PointLoads::PointLoads(std::span<const std::int32_t> nodes, std::span<const mesh::Point> loads)
    : node_(nodes.begin(), nodes.end()), load_(loads.begin(), loads.end()) {
  require(nodes.size() == loads.size(), "there must be one load for each of the ", nodes.size(), " nodes, not ", loads.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    require(nodes[i] >= 0, "load ", i, " has the node ", nodes[i]);
    nodes_ = std::max(nodes_, Index{nodes[i]} + 1);
  }
}

double PointLoads::energy(std::span<const mesh::Point> x) const {
  double sum = 0;
  for (std::size_t i = 0; i < node_.size(); ++i) sum -= load_[i].dot(x[node_[i]]);
  return sum;
}

void PointLoads::add_forces(std::span<const mesh::Point>, std::span<mesh::Point> f) const {
  for (std::size_t i = 0; i < node_.size(); ++i) f[node_[i]] += load_[i];
}

void Wind::set(std::span<const mesh::Point> wind, std::span<const mesh::Point> velocities) {
  require(wind.size() <= 1 || wind.size() >= nodes_, "there must be one wind, or one for each of the ", nodes_, " nodes, not ",
          wind.size());
  require(velocities.empty() || velocities.size() >= nodes_, "there must be one velocity for each of the ", nodes_,
          " nodes, not ", velocities.size());
  for (std::size_t i = 0; i < nodes_; ++i) {
    mesh::Point& here = values_[i];
    mesh::Point& relative = values_[nodes_ + i];
    // Until velocities come, they are 0.
    const mesh::Point velocity = velocities.empty() ? mesh::Point(here - relative) : velocities[i];
    if (!wind.empty()) here = wind.size() == 1 ? wind[0] : wind[i];
    relative = here - velocity;
  }
}

Drag::Drag(std::span<const double> coefficients, bool quadratic)
    : coefficient_(coefficients.begin(), coefficients.end()),
      quadratic_(quadratic),
      wind_(static_cast<Index>(coefficients.size())) {
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    require(std::isfinite(coefficients[i]) && coefficients[i] >= 0, "the drag of node ", i,
            " must be finite and not negative, not ", coefficients[i]);
}

void Drag::add_forces(std::span<const mesh::Point>, std::span<mesh::Point> f) const {
  if (in_step_) return;
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) f[i] += coefficient(i) * wind_.at(i);
  });
}

void Drag::begin_step(std::span<const mesh::Point>, double) {
  in_step_ = true;
  relative_.resize(coefficient_.size(), mesh::Point::Zero());
}

double Drag::add_drag(std::span<const mesh::Point> v, std::span<mesh::Point> f) const {
  return parallel_reduce(
      0, nodes(), 4096, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index i = begin; i < end; ++i) {
          const mesh::Point u = wind_.at(i) - v[i];
          const double speed = u.norm(), c = quadratic_ ? coefficient_[i] * speed : coefficient_[i];
          f[i] += c * u;
          sum += c * speed * speed / (quadratic_ ? 3 : 2);
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void Drag::linearise_drag(std::span<const mesh::Point> v) {
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) relative_[i] = wind_.at(i) - v[i];
  });
}

Block3 Drag::slope(std::size_t node) const {
  if (!quadratic_) return coefficient_[node] * Block3::Identity();
  const mesh::Point& u = relative_[node];
  const double speed = u.norm();
  if (!(speed > 0)) return Block3::Zero();
  return coefficient_[node] * (speed * Block3::Identity() + (u / speed) * u.transpose());
}

void Drag::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      if (in_step_)
        f[i].noalias() -= scale * (slope(i) * v[i]);
      else
        f[i] -= scale * coefficient(i) * v[i];
    }
  });
}

void Drag::add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const {
  for (std::size_t i = 0; i < coefficient_.size(); ++i) damping[i] += 0.5 * coefficient(i);
}

void Drag::add_diagonal(double, double damping_scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      if (in_step_)
        blocks[i] -= damping_scale * slope(i);
      else
        blocks[i].diagonal().array() -= damping_scale * coefficient(i);
    }
  });
}

}  // namespace meniscus::solids
