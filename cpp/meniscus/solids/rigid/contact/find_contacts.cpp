// Pairs of bodies, their points of contact, and islands.
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

/// Pairs of bodies of a piece; each piece has its own scratch memory.
constexpr Index pairs_of_piece = 8;
/// Of the slop: surfaces that have moved less along each other have the contacts of the substep before. What turns on a curved
/// surface with the normal of where it was gains as much as it was away from there.
constexpr double still_part = 0.01;

}  // namespace

double RigidSystem::margin_of(std::int32_t a, std::int32_t b) const { return way_[a] + way_[b] + options.slop; }

void RigidSystem::find_pairs(const RigidArrays& a, double dt) {
  const std::size_t n = parts.size();
  boxes_.resize(n);
  way_.resize(n);
  bounded_.clear();
  unbounded_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (parts[i].form->kind == FormKind::half_space)
      unbounded_.push_back(static_cast<std::int32_t>(i));
    else if (parts[i].form->kind != FormKind::none)
      bounded_.push_back(static_cast<std::int32_t>(i));
  }
  parallel_for(0, static_cast<Index>(n), 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const RigidForm& f = *parts[i].form;
      mesh::Box& box = boxes_[i];
      box = {};
      way_[i] = 0;
      if (f.kind == FormKind::half_space || f.kind == FormKind::none) continue;
      const RigidVelocity& v = velocities_[i];
      const double fall = dt * dt * parts[i].inertia.inverse_mass * a.forces[i].norm();
      if (!asleep_[i]) way_[i] = dt * (v.linear.norm() + v.angular.norm() * f.reach) + fall;
      for (const Vector3& x : f.vertices) box.add(rotations_[i] * x);
      const double grow = f.radius + 0.5 * parts[i].properties.thickness + way_[i] + options.slop;
      box.low += (centers_[i].array() - grow).matrix();
      box.high += (centers_[i].array() + grow).matrix();
    }
  });
  std::vector<mesh::Box>& all = boxes_;
  const auto count = static_cast<Index>(bounded_.size());
  // A tree over the bodies with a box; it is built anew in each step, since bodies are few against points.
  pairs_.clear();
  if (count > 1) {
    auto near = workspace_.take<mesh::Box>(count);
    // Searches know edges: each body is one from its box to its box.
    auto numbers = workspace_.take<std::int32_t>(2 * count);
    for (Index i = 0; i < count; ++i) {
      near.data()[i] = all[bounded_[i]];
      numbers.data()[2 * i] = numbers.data()[2 * i + 1] = static_cast<std::int32_t>(i);
    }
    if (tree_size_ != count) {
      tree_ = collision::ElementTree({numbers.data(), static_cast<std::size_t>(2 * count)}, 2);
      tree_size_ = count;
    }
    tree_.build({near.data(), static_cast<std::size_t>(count)}, workspace_);
    const collision::PairList list({.first = &tree_, .second = &tree_}, pair_scratch_);
    pairs_.resize(list.size());
    list.write(pairs_);
    for (auto& p : pairs_) p = {bounded_[p[0]], bounded_[p[1]]};
  }
  for (const std::int32_t h : unbounded_)
    for (const std::int32_t b : bounded_) {
      const auto i = static_cast<std::size_t>(b), j = static_cast<std::size_t>(h);
      const Vector3 m = rotations_[j] * parts[j].form->faces.normals[0];
      const double offset = m.dot(rotations_[j] * parts[j].form->vertices[0] + centers_[j]);
      if (m.dot(centers_[i]) - parts[i].form->reach - margin_of(b, h) -
              0.5 * (parts[i].properties.thickness + parts[j].properties.thickness) <=
          offset)
        pairs_.push_back({b, h});
    }
  std::erase_if(pairs_, [&](const collision::ElementPair& p) {
    if (!parts[p[0]].dynamic() && !parts[p[1]].dynamic()) return true;
    const std::array<std::int32_t, 2> sorted{std::min(p[0], p[1]), std::max(p[0], p[1])};
    return std::binary_search(apart.begin(), apart.end(), sorted);
  });
  std::sort(pairs_.begin(), pairs_.end());
}

void RigidSystem::touch(std::size_t pair, Manifold& out, ConvexScratch& convex, MeshScratch& meshes) const {
  const auto i = static_cast<std::size_t>(pairs_[pair][0]), j = static_cast<std::size_t>(pairs_[pair][1]);
  const RigidPart &p = parts[i], &q = parts[j];
  const double thickness = 0.5 * (p.properties.thickness + q.properties.thickness);
  const double margin = margin_of(pairs_[pair][0], pairs_[pair][1]) + thickness;
  const FormKind mesh = FormKind::mesh;
  out.clear();
  if (q.form->kind == FormKind::half_space) {
    half_space_contacts(*p.form, pose(i), *q.form, pose(j), margin, out);
  } else if (p.form->kind != mesh && q.form->kind != mesh) {
    convex_contacts(*p.form, pose(i), *q.form, pose(j), margin, convex, out);
  } else if (!q.surface && q.form->kind == FormKind::convex) {
    mesh_rounded_contacts(*p.form, pose(i), *q.form, pose(j), margin, meshes, out);
  } else if (!p.surface && p.form->kind == FormKind::convex) {
    mesh_rounded_contacts(*q.form, pose(j), *p.form, pose(i), margin, meshes, out);
    out.flip();
  } else {
    const RigidForm &f = p.form->kind == mesh ? *p.form : *p.surface, &g = q.form->kind == mesh ? *q.form : *q.surface;
    // Of bodies that go far: from the nearest places on, as far as others go.
    const double usual = std::max(mesh_reach, options.slop) + thickness;
    double reach = margin;
    if (margin > usual) {
      const double nearest = mesh_distance(f, pose(i), g, pose(j), margin, meshes);
      if (nearest > margin) return;
      reach = std::min(margin, std::max(nearest, thickness) + usual - thickness);
    }
    mesh_contacts(f, pose(i), g, pose(j), reach, meshes, out);
  }
  for (ContactPoint& c : out.points()) c.gap -= thickness;
}

void RigidSystem::find_contacts(const RigidArrays& a, double dt, const ContactList& given) {
  report_ = {};
  asleep_.assign(parts.size(), 0);
  read(a);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Someone has pushed it.
    if (velocities_[i].linear.norm() > sleep.speed || velocities_[i].angular.norm() > sleep.turn) a.quiet[i] = 0;
  }
  still_.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const RigidVelocity& v = velocities_[i];
    still_[i] = v.linear.isZero(0) && v.angular.isZero(0) && (!parts[i].dynamic() || a.quiet[i] >= sleep.after);
  }
  find_pairs(a, dt);
  report_.pairs = static_cast<Index>(pairs_.size());
  gone_.assign(pairs_.size(), 0);
  // Between bodies at rest nothing has changed.
  touch_pairs([&](std::size_t i) { return still_[pairs_[i][0]] && still_[pairs_[i][1]] && contacts.find(pairs_[i]); });
  // All are anchored anew: what is known is the same whether the step before was taken here or somewhere else.
  anchors_.clear();
  list_contacts(given);
  report_.groups = static_cast<Index>(contacts.groups.size());
  report_.contacts = static_cast<Index>(contacts.points.size());
  for (const ContactPoint& c : contacts.points) report_.deepest = std::max(report_.deepest, -c.gap);
  find_islands(a);
}

void RigidSystem::follow_contacts(const RigidArrays& a, double h, const ContactList& given) {
  read(a);
  const double far = still_part * options.slop;
  const auto curved = [&](Index i) { return parts[i].form->radius > 0 || parts[i].form->kind == FormKind::mesh; };
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const Index i = pairs_[k][0], j = pairs_[k][1];
    const RigidVelocity &v = velocities_[i], &u = velocities_[j];
    // Faces keep their normals.
    if (parts[j].form->kind == FormKind::half_space || !(curved(i) || curved(j))) continue;
    gone_[k] +=
        h * ((v.linear - u.linear).norm() + v.angular.norm() * parts[i].form->reach + u.angular.norm() * parts[j].form->reach);
  }
  touch_pairs([&](std::size_t k) { return gone_[k] <= far; });
  list_contacts(given);
}

template <class Keep>
void RigidSystem::touch_pairs(Keep&& keep) {
  const auto pieces = (static_cast<Index>(pairs_.size()) + pairs_of_piece - 1) / pairs_of_piece;
  if (manifolds_.size() < pairs_.size()) manifolds_.resize(pairs_.size());
  while (static_cast<Index>(narrow_.size()) < pieces) narrow_.push_back(std::make_unique<Narrow>());
  kept_.resize(pairs_.size());
  parallel_for(0, static_cast<Index>(pairs_.size()), pairs_of_piece, [&](Index begin, Index end) {
    Narrow& own = *narrow_[begin / pairs_of_piece];
    for (Index i = begin; i < end; ++i) {
      kept_[i] = keep(i) ? 1 : 0;
      if (!kept_[i]) {
        touch(i, manifolds_[i], own.convex, own.meshes);
        gone_[i] = 0;
      } else if (const ContactGroup* const old = contacts.find(pairs_[i])) {
        manifolds_[i].take(contacts.of(*old));
      } else {
        manifolds_[i].clear();
      }
    }
  });
  leave_out_seams();
}

void RigidSystem::list_contacts(const ContactList& given) {
  found_.clear();
  std::size_t next = 0;
  const auto take_given = [&](std::array<std::int32_t, 2> until) {
    for (; next < given.groups.size() && given.groups[next].bodies < until; ++next) {
      // Solids may meet many points of a mesh.
      given_.clear();
      for (const ContactPoint& c : given.of(given.groups[next])) given_.add(c.point, c.normal, c.gap, c.key);
      given_.keep_directions();
      const auto points = given_.points();
      found_.groups.push_back(
          {given.groups[next].bodies, static_cast<std::int32_t>(points.size()), static_cast<Index>(found_.points.size())});
      found_.points.insert(found_.points.end(), points.begin(), points.end());
    }
  };
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const auto points = manifolds_[k].points();
    if (points.empty()) continue;
    take_given(pairs_[k]);
    found_.groups.push_back({pairs_[k], static_cast<std::int32_t>(points.size()), static_cast<Index>(found_.points.size())});
    found_.points.insert(found_.points.end(), points.begin(), points.end());
  }
  take_given({std::numeric_limits<std::int32_t>::max(), 0});
  double size = 0;
  for (const std::int32_t b : bounded_) size = std::max(size, parts[b].form->reach);
  inherit_impulses(contacts, 0.02 * size, found_);
  std::swap(contacts, found_);
  anchor();
}

}  // namespace meniscus::solids
