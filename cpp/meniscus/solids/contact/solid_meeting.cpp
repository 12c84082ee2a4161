#include "meniscus/solids/contact/solid_meeting.hpp"

#include "meniscus/collision/broad_phase/hash_queries.hpp"
#include "meniscus/core/error.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace meniscus::solids {
namespace {

/// Turns of the nodes in contact: in a wedge each plane turns the path that the other has left.
constexpr int most_turns = 3;
/// Part of the depth that is left after all turns, on surfaces that curve towards the node, and goes in one step.
constexpr double lift = 0.1;
/// Of the greatest change by a resolution: what is no deeper than this does not count.
constexpr double slack = 1e-6;
/// Along a surface that curves, a node that is held already may still get deeper: free directions are longer than this.
constexpr double new_direction = 1e-6;

/// Nodes in a solid.
struct Inside {
  std::size_t solid;
  std::vector<std::int32_t> nodes;
  std::vector<double> phi;  // m, negative
};

/// A contact, as one turn finds it.
struct Found {
  std::int32_t node, solid;
  int turn;
  bool stopped;
  mesh::Point normal, velocity;
};

std::vector<mesh::Point> gathered(ConstPoints x, std::span<const std::int32_t> of) {
  std::vector<mesh::Point> at(of.size());
  nodes::each(static_cast<Index>(of.size()), [&](std::size_t k) { at[k] = x[of[k]]; });
  return at;
}

/// The nodes in each solid, solids ascending.
std::vector<Inside> inside(std::span<const SolidObstacle> solids, ConstPoints x, std::span<const std::int32_t> of) {
  std::vector<Inside> found;
  if (of.empty() || solids.empty()) return found;
  const std::vector<mesh::Point> at = gathered(x, of);
  std::vector<mesh::Box> boxes;
  std::vector<std::ptrdiff_t> box_of(solids.size(), -1);
  for (std::size_t s = 0; s < solids.size(); ++s) {
    const surface::Bounds<3> b = solids[s].bounds();
    if (!b.lower.allFinite() || !b.upper.allFinite()) continue;
    box_of[s] = static_cast<std::ptrdiff_t>(boxes.size());
    boxes.push_back({b.lower, b.upper});
  }
  collision::BodyPartition partition;
  if (!boxes.empty()) {
    mesh::require_finite(at, "points");
    partition.build(boxes, at);
  }
  std::vector<mesh::Point> places;
  std::vector<double> phi;
  std::vector<std::int32_t> near;
  for (std::size_t s = 0; s < solids.size(); ++s) {
    if (box_of[s] < 0) {
      near.resize(of.size());
      for (std::size_t k = 0; k < near.size(); ++k) near[k] = static_cast<std::int32_t>(k);
    } else {
      const Index first = partition.starts()[box_of[s]], last = partition.starts()[box_of[s] + 1];
      const auto own = partition.points().subspan(first, last - first);
      near.assign(own.begin(), own.end());
    }
    if (near.empty()) continue;
    places = gathered(at, near);
    phi.resize(near.size());
    solids[s].ask(places, {phi, {}, {}});
    Inside own{s, {}, {}};
    for (std::size_t k = 0; k < near.size(); ++k) {
      if (!(phi[k] < 0)) continue;
      own.nodes.push_back(of[near[k]]);
      own.phi.push_back(phi[k]);
    }
    if (!own.nodes.empty()) found.push_back(std::move(own));
  }
  return found;
}

/// Where the way from a distance (m) to another one, which is negative, meets the surface; 0 for nodes that begin inside.
double meeting_time(double before, double after) {
  const double way = before - after;
  return before > 0 && way > 0 ? std::min(before / way, 1.0) : 0.0;
}

/// Whether friction takes all of a velocity along a surface.
bool stopped(const mesh::Point& v, const mesh::Point& normal, const mesh::Point& velocity, double friction) {
  const mesh::Point relative = v - velocity;
  const double into = -relative.dot(normal);
  return into > 0 && (relative + into * normal).norm() <= friction * into;
}

/// Turns the ways of nodes that end in a solid.
void turn(const SolidObstacle& obstacle, const Inside& in, int number, ConstPoints x0, Points x1, double dt,
          SolidResponse response, std::vector<Found>& found) {
  const std::size_t n = in.nodes.size();
  const std::vector<mesh::Point> start = gathered(x0, in.nodes), end = gathered(x1, in.nodes);
  std::vector<mesh::Point> normals(n), velocities(n, mesh::Point::Zero()), meeting(n);
  std::vector<double> before(n), theta(n);
  const bool moves = obstacle.solid->moves(), projects = response == SolidResponse::projection;
  const bool asks_end = moves || projects;
  if (asks_end) obstacle.ask(end, {{}, normals, moves ? std::span(velocities) : std::span<mesh::Point>()});
  if (!projects) {
    obstacle.ask(start, {before, {}, {}});
    nodes::each(static_cast<Index>(n), [&](std::size_t k) {
      // The solid, as it is at the end, at the place of the start: its motion is added to first order.
      if (moves) before[k] += dt * velocities[k].dot(normals[k]);
      theta[k] = meeting_time(before[k], in.phi[k]);
      meeting[k] = start[k] + theta[k] * (end[k] - start[k]) + ((1 - theta[k]) * dt) * velocities[k];
    });
    obstacle.ask(meeting, {{}, normals, {}});
  }
  const std::size_t first = found.size();
  found.resize(first + n);
  nodes::each(static_cast<Index>(n), [&](std::size_t k) {
    const mesh::Point way = end[k] - start[k], v = way / dt;
    x1[in.nodes[k]] = projects
                          ? mesh::Point(end[k] - in.phi[k] * normals[k])
                          : mesh::Point(start[k] + theta[k] * way +
                                        ((1 - theta[k]) * dt) * after_contact(normals[k], velocities[k], obstacle.friction, v));
    found[first + k] = {in.nodes[k], static_cast<std::int32_t>(in.solid),
                        number,      stopped(v, normals[k], velocities[k], obstacle.friction),
                        normals[k],  velocities[k]};
  });
}

/// Rows from what all turns have found: the last turn has the normal, the first one says whether a node sticks.
NodeRows rows_of(std::vector<Found>& found, std::span<const SolidObstacle> solids) {
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return std::tie(a.node, a.solid, a.turn) < std::tie(b.node, b.solid, b.turn); });
  NodeRows rows;
  for (std::size_t first = 0, last = 0; first < found.size(); first = last) {
    while (last < found.size() && found[last].node == found[first].node && found[last].solid == found[first].solid) ++last;
    const Found& f = found[last - 1];
    const bool sticks = found[first].turn == 0 && found[first].stopped;
    rows.add({f.node, f.solid, f.normal, f.velocity, solids[f.solid].friction, sticks});
  }
  rows.complete();
  return rows;
}

/// Whether a node is deeper in a solid than it was.
std::vector<std::uint8_t> deeper(const SolidObstacle& solid, ConstPoints here, ConstPoints ends, std::span<const std::int32_t> of,
                                 double least) {
  std::vector<double> before(of.size()), after(of.size());
  std::vector<std::uint8_t> result(of.size());
  solid.ask(gathered(here, of), {before, {}, {}});
  solid.ask(gathered(ends, of), {after, {}, {}});
  for (std::size_t k = 0; k < of.size(); ++k) result[k] = after[k] < std::min(before[k], 0.0) - least;
  return result;
}

double change(ConstPoints here, ConstPoints ends, std::int32_t i) { return (ends[i] - here[i]).cwiseAbs().maxCoeff(); }

}  // namespace

void SolidObstacle::ask(ConstPoints x, const surface::SolidAnswers& answers) const {
  solid->ask(x, answers);
  if (thickness != 0)
    for (double& phi : answers.distances) phi -= thickness;
}

NodeRows meet_solids(std::span<const SolidObstacle> solids, ConstPoints x0, Points x1, double dt,
                     std::span<const std::int32_t> movable, SolidResponse response) {
  require(x0.size() == x1.size(), "there must be as many positions at the start as at the end");
  for (const std::int32_t i : movable)
    require(i >= 0 && std::cmp_less(i, x1.size()), "node ", i, " does not exist: there are ", x1.size());
  std::vector<Found> found;
  std::vector<std::int32_t> candidates(movable.begin(), movable.end());
  const int turns = response == SolidResponse::projection ? 1 : most_turns;
  int number = 0;
  for (; number < turns; ++number) {
    const std::vector<Inside> in = inside(solids, x1, candidates);
    if (in.empty()) break;
    candidates.clear();
    for (const Inside& own : in) {
      turn(solids[own.solid], own, number, x0, x1, dt, response, found);
      candidates.insert(candidates.end(), own.nodes.begin(), own.nodes.end());
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  }
  const NodeRows rows = rows_of(found, solids);
  if (number == most_turns)
    for (const Inside& own : inside(solids, x1, candidates))
      for (std::size_t k = 0; k < own.nodes.size(); ++k)
        if (const auto solid = static_cast<std::int32_t>(own.solid); rows.has(own.nodes[k], solid))
          x1[own.nodes[k]] -= lift * own.phi[k] * rows.normals[rows.find(own.nodes[k], solid)];
  return rows;
}

std::vector<std::int32_t> pressed_into(std::span<const SolidObstacle> solids, ConstPoints here, ConstPoints ends,
                                       std::span<const std::int32_t> of) {
  double most = 0;
  for (const std::int32_t i : of) most = std::max(most, change(here, ends, i));
  std::vector<std::uint8_t> any(of.size(), 0);
  for (const SolidObstacle& solid : solids) {
    const auto own = deeper(solid, here, ends, of, slack * most);
    for (std::size_t k = 0; k < of.size(); ++k) any[k] = any[k] || own[k];
  }
  std::vector<std::int32_t> pressed;
  for (std::size_t k = 0; k < of.size(); ++k)
    if (any[k]) pressed.push_back(of[k]);
  return pressed;
}

bool hold_out_of(std::span<const SolidObstacle> solids, ConstPoints here, ConstPoints ends, std::span<const std::int32_t> movable,
                 NodeProjectors& projectors) {
  std::vector<std::int32_t> moved;
  double most = 0;
  for (const std::int32_t i : movable)
    if (const double c = change(here, ends, i); c > 0) {
      most = std::max(most, c);
      moved.push_back(i);
    }
  std::map<std::int32_t, Eigen::Matrix3d> free;
  for (std::size_t k = 0; k < projectors.nodes.size(); ++k) free[projectors.nodes[k]] = projectors.free[k];
  bool found = false;
  for (const SolidObstacle& solid : solids) {
    if (moved.empty()) break;
    const auto own = deeper(solid, here, ends, moved, slack * most);
    std::vector<std::int32_t> pressed;
    for (std::size_t k = 0; k < moved.size(); ++k)
      if (own[k]) pressed.push_back(moved[k]);
    if (pressed.empty()) continue;
    std::vector<mesh::Point> normals(pressed.size());
    solid.ask(gathered(here, pressed), {{}, normals, {}});
    for (std::size_t k = 0; k < pressed.size(); ++k) {
      const auto known = free.find(pressed[k]);
      const Eigen::Matrix3d p = known == free.end() ? Eigen::Matrix3d(Eigen::Matrix3d::Identity()) : known->second;
      const mesh::Point across = p * normals[k];
      if (!(across.norm() > new_direction)) continue;
      free[pressed[k]] = p - across * across.transpose() / across.squaredNorm();
      found = true;
    }
  }
  if (!found) return false;
  projectors = {};
  for (const auto& [node, p] : free) {
    projectors.nodes.push_back(node);
    projectors.free.push_back(p);
  }
  return true;
}

}  // namespace meniscus::solids
