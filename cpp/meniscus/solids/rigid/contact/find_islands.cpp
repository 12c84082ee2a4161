// Islands of bodies, who of them sleeps, and who is woken.
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

double least_gap(std::span<const ContactPoint> points) {
  double least = std::numeric_limits<double>::infinity();
  for (const ContactPoint& c : points) least = std::min(least, c.gap);
  return least;
}

}  // namespace

void RigidSystem::find_islands(const RigidArrays& a) {
  const auto index = [](std::int32_t b) { return static_cast<std::size_t>(b); };
  islands_.begin(static_cast<Index>(parts.size()));
  free_.resize(parts.size());
  const bool sleeps = sleep.after < std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    touched_[i] = parts[i].dynamic();
    if (!sleeps) continue;
    const RigidVelocity& v = velocities_[i];
    // What nothing holds may sleep only where it would not move either.
    free_[i] = v.linear.isZero(0) && v.angular.isZero(0) && a.forces[i].isZero(0) && a.torques[i].isZero(0);
  }
  const auto join = [&](std::array<std::int32_t, 2> b) {
    const bool first = parts[index(b[0])].dynamic(), second = parts[index(b[1])].dynamic();
    if (first && second) {
      islands_.join(b[0], b[1]);
    } else {
      islands_.hold(b[first ? 0 : 1]);
    }
  };
  for (const ContactGroup& g : contacts.groups) {
    const auto points = contacts.of(g);
    if (std::any_of(points.begin(), points.end(), [&](const ContactPoint& c) { return c.gap <= options.slop; })) join(g.bodies);
    if (!sleeps) continue;
    const double gap = least_gap(points);
    // On what is moved along a path nothing comes to rest.
    for (std::size_t k = 0; k < 2; ++k) {
      const auto mover = index(g.bodies[k]), other = index(g.bodies[1 - k]);
      const RigidVelocity& v = velocities_[mover];
      if (parts[mover].dynamic() || (v.linear.isZero(0) && v.angular.isZero(0))) continue;
      if (gap <= options.slop + way_[mover] + way_[other]) a.quiet[other] = 0;
    }
  }
  for (const Joint& j : joints) {
    join(j.bodies);
    for (std::size_t k = 0; k < 2; ++k) {
      const RigidVelocity& v = velocities_[index(j.bodies[k])];
      if (!parts[index(j.bodies[k])].dynamic() && !(v.linear.isZero(0) && v.angular.isZero(0)))
        a.quiet[index(j.bodies[1 - k])] = 0;
    }
  }
  const auto sleep_again = [&] { report_.islands = islands_.sleep(touched_, free_, a.quiet, sleep.after, asleep_); };
  sleep_again();
  if (std::find(asleep_.begin(), asleep_.end(), 1) != asleep_.end()) wake_what_is_met(a);
  report_.asleep = std::count(asleep_.begin(), asleep_.end(), 1);
}

void RigidSystem::wake_what_is_met(const RigidArrays& a) {
  for (bool more = true; more;) {
    more = false;
    reach_.assign(parts.size(), 0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!touched_[i] || asleep_[i]) continue;
      double& reach = reach_[islands_.root(static_cast<std::int32_t>(i))];
      reach = std::max(reach, way_[i]);
    }
    for (const ContactGroup& g : contacts.groups) {
      const auto b = g.bodies;
      const auto i = static_cast<std::size_t>(b[0]), j = static_cast<std::size_t>(b[1]);
      if (!touched_[i] || !touched_[j] || asleep_[i] == asleep_[j]) continue;
      // Any impulse within the step goes as far through an island as its fastest body.
      const double reach = reach_[islands_.root(asleep_[i] ? b[1] : b[0])];
      if (least_gap(contacts.of(g)) > options.slop + reach) continue;
      islands_.join(b[0], b[1]);
      more = true;
    }
    if (more) report_.islands = islands_.sleep(touched_, free_, a.quiet, sleep.after, asleep_);
  }
}

}  // namespace meniscus::solids
