// Islands in which sweeps leave much, solved directly.
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// Of the slop: by how much surfaces may move in a substep through what sweeps leave, and through what is left of it.
constexpr double needless = 1e-4, solved = 1e-5;
/// Of the way that the strongest force moves a body in a substep: the least slop that counts for these.
constexpr double least_slop = 1e-3;
/// Masses of an island that differ by less do not make sweeps slow.
constexpr double alike = 10;
/// Where they are alike, only islands of narrow towers and walls are worth a direct solve: with at most so many pairs of bodies
/// for each body.
constexpr double pairs_of_body = 2;
/// Of the slop: deeper overlaps are left to sweeps, which push the lighter body. All at once, a heavy one that is deep in a light
/// one would be lifted out of it in a few steps, and have gained its weight times the way.
constexpr double most_overlap = 10;
constexpr double least_push = 1e-6;
/// Products of blocks that the factors of an island may take, for each of its points, where masses are alike and where not, and
/// for all: what costs more is left to sweeps.
constexpr Index work_of_point_alike = 2, work_of_point = 30, most_work = 40'000;

}  // namespace

double RigidSystem::find_lacks(IslandImpulses which) {
  lacks_.assign(groups_.size(), 0);
  double most = 0;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    for (const SolverPoint& p : points_of(groups_[k]).points)
      lacks_[k] = std::max(lacks_[k], which == IslandImpulses::push ? p.push_change : p.change);
    most = std::max(most, lacks_[k]);
  }
  return most;
}

void RigidSystem::mark_islands(double enough) {
  joined_.reset(std::ssize(parts));
  may_move_.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) may_move_[i] = moves(static_cast<std::int32_t>(i));
  const auto join = [&](std::array<std::int32_t, 2> b) {
    if (may_move_[b[0]] && may_move_[b[1]]) joined_.join(b[0], b[1]);
  };
  for (const SolverGroup& g : groups_) join(g.bodies);
  for (const Joint& j : joints) join(j.bodies);
  const auto root = [&](std::array<std::int32_t, 2> b) { return joined_.root(may_move_[b[0]] ? b[0] : b[1]); };
  constexpr std::int32_t none = -1, lacking = 0, left_alone = -2;
  island_of_.assign(parts.size(), none);
  for (std::size_t k = 0; k < groups_.size(); ++k)
    if (lacks_[k] > enough) island_of_[root(groups_[k].bodies)] = lacking;
  // Joints, and friction that depends on the direction, are left to sweeps.
  for (const Joint& j : joints)
    if (may_move_[j.bodies[0]] || may_move_[j.bodies[1]]) island_of_[root(j.bodies)] = left_alone;
  for (const SolverGroup& g : groups_)
    if (g.surface.across != 1 && (may_move_[g.bodies[0]] || may_move_[g.bodies[1]])) island_of_[root(g.bodies)] = left_alone;
  graphs_.assign(parts.size(), {});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!may_move_[i]) continue;
    IslandGraph& g = graphs_[joined_.root(static_cast<std::int32_t>(i))];
    g.bodies += 1;
    g.lightest = std::max(g.lightest, inertias_[i].inverse_mass);
    g.heaviest = std::min(g.heaviest, inertias_[i].inverse_mass);
  }
  for (const SolverGroup& g : groups_)
    if (may_move_[g.bodies[0]] && may_move_[g.bodies[1]]) graphs_[root(g.bodies)].pairs += 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    IslandGraph& g = graphs_[i];
    if (g.bodies == 0) continue;
    g.work_of_point = g.lightest < alike * g.heaviest ? work_of_point_alike : work_of_point;
    if (g.work_of_point == work_of_point_alike && g.pairs > pairs_of_body * g.bodies) island_of_[i] = left_alone;
  }
  std::int32_t islands = 0;
  work_of_point_.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool takes = island_of_[i] == lacking;
    island_of_[i] = takes ? islands++ : none;
    if (takes) work_of_point_.push_back(graphs_[i].work_of_point);
  }
  numerics::list_by_rows(Index{islands}, first_group_, island_groups_, [&](auto&& add) {
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const auto b = groups_[k].bodies;
      if (!may_move_[b[0]] && !may_move_[b[1]]) continue;
      const std::int32_t island = island_of_[root(b)];
      if (island >= 0) add(island, static_cast<std::int32_t>(k));
    }
  });
}

double RigidSystem::deepest_overlap(std::span<const std::int32_t> groups) {
  double fastest = 0;
  for (const std::int32_t g : groups)
    for (const SolverPoint& p : points_of(groups_[g]).points) fastest = std::max(fastest, p.push_target);
  return options.slop + fastest * substep_ / std::max(options.push, least_push);
}

bool RigidSystem::solve_island(IslandSolve& own, std::span<const std::int32_t> groups, IslandImpulses which, double enough,
                               Index most) {
  const bool push = which == IslandImpulses::push;
  if (push && deepest_overlap(groups) > most_overlap * options.slop) return false;
  const IslandBodies all{.groups = groups_,
                         .points = points_,
                         .turns = turns_,
                         .inertias = inertias_,
                         .moves = may_move_,
                         .velocities = push ? pseudo_ : velocities_};
  if (own.order(all, groups, numbers_) > most) return false;
  double before = 0;
  for (const std::int32_t g : groups) before = std::max(before, lacks_[g]);
  double after = own.solve(all, options, which, enough);
  // A sweep brings what is left into the cones, and tells what that was.
  for (const std::int32_t k : groups) {
    if (push) break;
    const SolverGroup& g = groups_[k];
    with_bodies(g.bodies, velocities_,
                [&](RigidVelocity& first, RigidVelocity& second) { sweep_contacts(g, points_of(g), options, first, second); });
    for (const SolverPoint& p : points_of(g).points) after = std::max(after, p.change);
  }
  if (after <= before) return true;
  own.restore(all);
  return false;
}

Index RigidSystem::solve_islands(IslandImpulses which, double enough) {
  if (!(find_lacks(which) > needless * enough)) return 0;
  mark_islands(needless * enough);
  const Index islands = std::ssize(first_group_) - 1;
  while (std::ssize(island_solves_) < islands) island_solves_.push_back(std::make_unique<IslandSolve>());
  numbers_.assign(parts.size(), -1);
  solved_.assign(islands, 0);
  parallel_for(0, islands, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const std::span<const std::int32_t> groups(island_groups_.data() + first_group_[i], first_group_[i + 1] - first_group_[i]);
      Index points = 0;
      for (const std::int32_t g : groups) points += groups_[g].count;
      solved_[i] =
          solve_island(*island_solves_[i], groups, which, solved * enough, std::min(most_work, work_of_point_[i] * points));
    }
  });
  return std::count(solved_.begin(), solved_.end(), 1);
}

void RigidSystem::solve_islands(const RigidArrays& a) {
  if (options.solver != RigidSolver::automatic || options.law == FrictionLaw::printed) return;
  double pull = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) pull = std::max(pull, parts[i].inertia.inverse_mass * a.forces[i].norm());
  const double speed = std::max(options.slop / substep_, least_slop * substep_ * pull);
  report_.direct = solve_islands(IslandImpulses::contact, std::max(speed, options.tolerance / needless));
  solve_islands(IslandImpulses::push, speed);
}

Index RigidSystem::island_bytes() const {
  Index sum =
      joined_.bytes() +
      static_cast<Index>(lacks_.capacity() * 8 + graphs_.capacity() * sizeof(IslandGraph) + work_of_point_.capacity() * 8 +
                         may_move_.capacity() + solved_.capacity() +
                         4 * (island_of_.capacity() + numbers_.capacity() + first_group_.capacity() + island_groups_.capacity()));
  for (const auto& s : island_solves_) sum += s->nbytes();
  return sum;
}

}  // namespace meniscus::solids
