#include "meniscus/solids/rigid/contact/contact_point.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {

RigidSurface surface_of_pair(const RigidSurface& first, const RigidSurface& second) {
  const auto mean = [](double a, double b) { return std::sqrt(a * b); };
  RigidSurface s;
  s.static_friction = mean(first.static_friction, second.static_friction);
  s.dynamic_friction = mean(first.dynamic_friction, second.dynamic_friction);
  s.across = 1;
  s.rolling_friction = std::max(first.rolling_friction, second.rolling_friction);
  s.spinning_friction = std::max(first.spinning_friction, second.spinning_friction);
  s.restitution = std::max(first.restitution, second.restitution);
  s.thickness = 0.5 * (first.thickness + second.thickness);
  return s;
}

const ContactGroup* ContactList::find(std::array<std::int32_t, 2> bodies) const {
  const auto at = std::lower_bound(groups.begin(), groups.end(), bodies,
                                   [](const ContactGroup& g, const std::array<std::int32_t, 2>& b) { return g.bodies < b; });
  return at != groups.end() && at->bodies == bodies ? &*at : nullptr;
}

Index ContactList::nbytes() const {
  return static_cast<Index>(groups.capacity() * sizeof(ContactGroup) + points.capacity() * sizeof(ContactPoint));
}

namespace {

void inherit(const ContactPoint& from, ContactPoint& to) {
  to.normal_impulse = from.normal_impulse;
  to.tangent_impulse = from.tangent_impulse;
  to.turning_impulse = from.turning_impulse;
  to.tangent = from.tangent;
}

/// How many points of a group can be compared with each other.
constexpr std::size_t most_points = 64;

}  // namespace

void inherit_impulses(const ContactList& old, double radius, ContactList& list) {
  parallel_for(0, static_cast<Index>(list.groups.size()), 64, [&](Index begin, Index end) {
    for (Index g = begin; g < end; ++g) {
      const ContactGroup& group = list.groups[g];
      const ContactGroup* const before = old.find(group.bodies);
      if (!before) continue;
      const auto points = list.of(group);
      const auto from = old.of(*before);
      const std::size_t known = std::min(from.size(), most_points), count = std::min(points.size(), most_points);
      std::array<bool, most_points> taken{}, done{};
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < known; ++j)
          if (!taken[j] && from[j].key == points[i].key) {
            inherit(from[j], points[i]);
            taken[j] = done[i] = true;
            break;
          }
      for (std::size_t i = 0; i < count; ++i) {
        if (done[i]) continue;
        std::size_t best = known;
        double nearest = radius * radius;
        for (std::size_t j = 0; j < known; ++j) {
          const double d = (from[j].point - points[i].point).squaredNorm();
          if (!taken[j] && d < nearest && from[j].normal.dot(points[i].normal) > 0.9) nearest = d, best = j;
        }
        if (best < known) {
          inherit(from[best], points[i]);
          taken[best] = true;
        }
      }
    }
  });
}

}  // namespace meniscus::solids
