#include "meniscus/solids/contact/solid_barrier.hpp"

#include "meniscus/collision/barrier/barrier_function.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::solids {
namespace {

/// Places on the way of a node at which solids are looked for.
constexpr int tested_places = 64;
constexpr int most_cuts = 60;

}  // namespace

SolidBarrier::SolidBarrier(Solids solids, const collision::ContactNodes& nodes, Index bodies, double activation)
    : solids_(std::move(solids)), activation_(activation), near_(solids_.size()) {
  for (std::int32_t i = 0; i < bodies; ++i)
    if (nodes.inverse_mass(i) > 0) nodes_.push_back(i);
}

bool SolidBarrier::moves() const {
  return std::ranges::any_of(solids_, [](const auto& s) { return s->moves(); });
}

double SolidBarrier::slope(double distance) const {
  const double s = distance / activation_;
  return 2 * distance / (activation_ * activation_) * collision::barrier_function(s * s, 1)[1];
}

double SolidBarrier::curvature(double distance) const {
  const double square = activation_ * activation_, s = distance / square;
  const auto b = collision::barrier_function(distance * s, 1);
  return std::max(2 / square * b[1] + 4 * s * s * b[2], 0.0);
}

void SolidBarrier::measure(std::size_t solid, ConstPoints x, double time, Near& out) const {
  const mesh::Box box = solids_[solid]->box(time);
  const mesh::Point low = box.low.array() - activation_, high = box.high.array() + activation_;
  out.nodes.clear();
  out.points.clear();
  for (const std::int32_t i : nodes_) {
    const mesh::Point& p = x[i];
    if (!(p.array() > low.array()).all() || !(p.array() < high.array()).all()) continue;
    out.nodes.push_back(i);
    out.points.push_back(p);
  }
  out.distance.resize(out.nodes.size());
  if (!out.nodes.empty()) solids_[solid]->distances(out.points, time, out.distance);
}

bool SolidBarrier::find(ConstPoints x, double time) {
  for (std::size_t k = 0; k < solids_.size(); ++k) {
    Near& n = near_[k];
    measure(k, x, time, n);
    std::size_t end = 0;
    for (std::size_t i = 0; i < n.nodes.size(); ++i) {
      if (!(n.distance[i] > 0)) return false;
      if (n.distance[i] >= activation_) continue;
      n.nodes[end] = n.nodes[i];
      n.points[end] = n.points[i];
      n.distance[end++] = n.distance[i];
    }
    n.nodes.resize(end);
    n.points.resize(end);
    n.distance.resize(end);
    n.normals.resize(end);
    if (end > 0) solids_[k]->normals(n.points, time, n.normals);
  }
  return true;
}

Index SolidBarrier::size() const {
  Index sum = 0;
  for (const Near& n : near_) sum += static_cast<Index>(n.nodes.size());
  return sum;
}

double SolidBarrier::least_distance() const {
  double least = unbounded;
  for (const Near& n : near_)
    for (const double d : n.distance) least = std::min(least, d);
  return least;
}

double SolidBarrier::energy() const {
  double sum = 0;
  for (const Near& n : near_)
    sum += nodes::sum(static_cast<Index>(n.nodes.size()), 0.0, [&](std::size_t i) {
      const double s = n.distance[i] / activation_;
      return collision::barrier_function(s * s, 1)[0];
    });
  return sum;
}

void SolidBarrier::add_forces(double stiffness, Points out) const {
  for (const Near& n : near_)
    nodes::each(static_cast<Index>(n.nodes.size()),
                [&](std::size_t i) { out[n.nodes[i]] -= stiffness * slope(n.distance[i]) * n.normals[i]; });
}

void SolidBarrier::carried(std::size_t solid, ConstPoints x, double time, double dt, Points out) const {
  nodes::clear(out);
  if (!solids_[solid]->moves() || x.empty()) return;
  solids_[solid]->velocities(x, time, dt, out);
  for (mesh::Point& v : out) v *= dt;
}

void SolidBarrier::lag(double stiffness, ConstPoints x, double time, double dt) {
  rubbing_.clear();
  for (std::size_t k = 0; k < solids_.size(); ++k) {
    const Near& n = near_[k];
    const double mu = solids_[k]->friction();
    if (mu <= 0) continue;
    places_.resize(n.nodes.size());
    velocities_.resize(n.nodes.size());
    for (std::size_t i = 0; i < n.nodes.size(); ++i) places_[i] = x[n.nodes[i]];
    carried(k, places_, time, dt, velocities_);
    for (std::size_t i = 0; i < n.nodes.size(); ++i) {
      const double force = -mu * stiffness * slope(n.distance[i]);
      rubbing_.push_back({n.nodes[i], velocities_[i], collision::LaggedFriction::across(n.normals[i], force)});
    }
  }
}

double SolidBarrier::friction_energy(ConstPoints x, ConstPoints start, double slip) const {
  double sum = 0;
  for (const Rubbing& r : rubbing_) sum += r.contact.energy(x[r.node] - start[r.node] - r.carried, slip);
  return sum;
}

void SolidBarrier::add_friction(ConstPoints x, ConstPoints start, double slip, Points out) const {
  for (const Rubbing& r : rubbing_) out[r.node] -= r.contact.gradient(x[r.node] - start[r.node] - r.carried, slip);
}

void SolidBarrier::linearise(double stiffness, ConstPoints x, ConstPoints start, double slip) {
  touched_.clear();
  for (const Near& n : near_) touched_.insert(touched_.end(), n.nodes.begin(), n.nodes.end());
  for (const Rubbing& r : rubbing_) touched_.push_back(r.node);
  std::ranges::sort(touched_);
  touched_.erase(std::ranges::unique(touched_).begin(), touched_.end());
  blocks_.assign(touched_.size(), Block3::Zero());
  const auto block = [&](std::int32_t node) -> Block3& {
    return blocks_[std::ranges::lower_bound(touched_, node) - touched_.begin()];
  };
  for (const Near& n : near_)
    for (std::size_t i = 0; i < n.nodes.size(); ++i)
      block(n.nodes[i]) += stiffness * curvature(n.distance[i]) * n.normals[i] * n.normals[i].transpose();
  for (const Rubbing& r : rubbing_) block(r.node) += r.contact.curvature(x[r.node] - start[r.node] - r.carried, slip);
}

void SolidBarrier::add_product(ConstPoints u, double factor, Points out) const {
  nodes::each(static_cast<Index>(touched_.size()), [&](std::size_t k) {
    const Index i = touched_[k];
    out[i] += factor * (blocks_[k] * u[i]);
  });
}

void SolidBarrier::add_diagonal(double factor, std::span<Block3> out) const {
  for (std::size_t k = 0; k < touched_.size(); ++k) out[touched_[k]] += factor * blocks_[k];
}

void SolidBarrier::add_given(double stiffness, ConstPoints x, double time, double dt, double factor, Points out) const {
  for (std::size_t k = 0; k < solids_.size(); ++k) {
    const Near& n = near_[k];
    places_.resize(n.nodes.size());
    velocities_.resize(n.nodes.size());
    for (std::size_t i = 0; i < n.nodes.size(); ++i) places_[i] = x[n.nodes[i]];
    carried(k, places_, time, dt, velocities_);
    for (std::size_t i = 0; i < n.nodes.size(); ++i)
      out[n.nodes[i]] -= (factor * stiffness * curvature(n.distance[i]) * n.normals[i].dot(velocities_[i])) * n.normals[i];
  }
}

double SolidBarrier::free_part(ConstPoints from, ConstPoints to, double now, double then) const {
  double alpha = 1;
  for (int cut = 0; cut < most_cuts; ++cut) {
    const double shorter = outside(from, to, now, then, alpha);
    if (shorter == alpha) break;
    alpha = shorter;
  }
  return alpha;
}

double SolidBarrier::outside(ConstPoints from, ConstPoints to, double now, double then, double alpha) const {
  const double end = now + alpha * (then - now);
  std::vector<mesh::Point>& at = ways_;
  at.resize(from.size());
  nodes::each(static_cast<Index>(from.size()), [&](std::size_t i) { at[i] = from[i] + alpha * (to[i] - from[i]); });
  for (std::size_t k = 0; k < solids_.size(); ++k) {
    measure(k, at, end, scratch_);
    depth_.clear();
    places_.clear();
    for (std::size_t i = 0; i < scratch_.nodes.size(); ++i) {
      if (scratch_.distance[i] > 0) continue;
      places_.push_back(from[scratch_.nodes[i]]);
      depth_.push_back(scratch_.distance[i]);
    }
    if (places_.empty()) continue;
    until_.resize(places_.size());
    solids_[k]->distances(places_, now, until_);
    double part = 1;
    for (std::size_t i = 0; i < places_.size(); ++i)
      part = std::min(part, std::max(until_[i], 0.0) / std::max(until_[i] - depth_[i], 1e-300));
    return alpha * part_of_way * part;
  }
  return alpha * outside_until(from, to, now, end, alpha);
}

double SolidBarrier::outside_until(ConstPoints from, ConstPoints to, double now, double then, double alpha) const {
  double first = 1;
  for (std::size_t k = 0; k < solids_.size(); ++k) first = first_inside(k, from, to, now, then - now, alpha, first);
  return first;
}

// Nodes are tested at `tested_places` tested_places at most: thinner parts of solids than what nodes go between these may be
// missed. No node goes farther than its distance before it is in a solid, so that few are tested anywhere.
double SolidBarrier::first_inside(std::size_t solid, ConstPoints from, ConstPoints to, double now, double span, double alpha,
                                  double first) const {
  const ImplicitSolid& s = *solids_[solid];
  mesh::Box box = s.box(now);
  box.add(s.box(now + span));
  Near& n = scratch_;
  n.nodes.clear();
  n.points.clear();
  n.normals.clear();  // their ways
  for (const std::int32_t i : nodes_) {
    const mesh::Point way = alpha * (to[i] - from[i]), end = from[i] + way;
    if (!(from[i].cwiseMax(end).array() > box.low.array()).all() || !(from[i].cwiseMin(end).array() < box.high.array()).all())
      continue;
    n.nodes.push_back(i);
    n.points.push_back(from[i]);
    n.normals.push_back(way);
  }
  const std::size_t count = n.nodes.size();
  if (count == 0) return first;
  // How far a node goes at most in relation to a solid, which may be a belt that stays where it is.
  reach_.resize(count);
  for (std::size_t i = 0; i < count; ++i) reach_[i] = n.normals[i].norm();
  if (s.moves() && span != 0) {
    velocities_.resize(count);
    for (const bool at_end : {false, true}) {
      places_ = n.points;
      for (std::size_t i = 0; at_end && i < count; ++i) places_[i] += n.normals[i];
      s.velocities(places_, now + span, span, velocities_);
      for (std::size_t i = 0; i < count; ++i) reach_[i] = std::max(reach_[i], (n.normals[i] - span * velocities_[i]).norm());
    }
  }
  until_.resize(count);
  s.distances(n.points, now, until_);
  for (std::size_t i = 0; i < count; ++i) until_[i] = reach_[i] > 0 ? until_[i] / reach_[i] : unbounded;
  for (int k = 1; k < tested_places && double(k) / tested_places < first; ++k) {
    const double part = double(k) / tested_places;
    rows_.clear();
    places_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (until_[i] >= part) continue;
      rows_.push_back(static_cast<std::int32_t>(i));
      places_.push_back(n.points[i] + part * n.normals[i]);
    }
    if (rows_.empty()) continue;
    depth_.resize(rows_.size());
    s.distances(places_, now + part * span, depth_);
    if (*std::ranges::min_element(depth_) <= 0) return part;
    for (std::size_t i = 0; i < rows_.size(); ++i) until_[rows_[i]] = part + depth_[i] / reach_[rows_[i]];
  }
  return first;
}

}  // namespace meniscus::solids
