#include "meniscus/collision/contact/zones/impact_zones.hpp"

#include "meniscus/collision/contact/zones/constraint_projection.hpp"
#include "meniscus/collision/contact/zones/rigid_motion.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <cmath>

namespace meniscus::collision {

void ImpactZones::begin(const ContactPaths& paths) {
  const std::size_t n = paths.displacements().size();
  reference_.assign(paths.displacements().begin(), paths.displacements().end());
  change_.assign(n, mesh::Point::Zero());
  parent_.assign(n, -1);
  rigid_.assign(n, 0);
  grown_.assign(n, 0);
  age_.assign(n, 0);
  used_.clear();
  rows_.clear();
  row_root_.clear();
  groups_.clear();
  counts_ = {};
}

std::int32_t ImpactZones::root(std::int32_t node) { return numerics::root_of(parent_.data(), node); }

std::int32_t ImpactZones::join(std::int32_t a, std::int32_t b) {
  a = root(a);
  b = root(b);
  if (a == b) return a;
  const std::int32_t low = numerics::unite(parent_.data(), a, b), high = std::max(a, b);
  rigid_[low] = rigid_[low] | rigid_[high];
  grown_[low] = grown_[low] | grown_[high];
  age_[low] = std::max(age_[low], age_[high]);
  return low;
}

bool ImpactZones::add(ContactPaths& paths, std::span<const PathContact> contacts, const ZoneOptions& options) {
  const ContactNodes& nodes = paths.nodes();
  const std::size_t before = rows_.size();
  bool possible = true;
  for (const PathContact& c : contacts) {
    rows_.emplace_back(nodes, c.vertices, c.weights, c.normal);
    possible = possible && can_resolve(nodes, rows_.back());
  }
  if (!possible) return false;
  for (std::size_t i = before; i < rows_.size(); ++i) {
    std::int32_t zone = -1;
    for (std::size_t k = 0; k < rows_[i].size(); ++k) {
      const std::int32_t node = rows_[i].node(k);
      if (nodes.inverse_mass(node) == 0) continue;
      if (parent_[node] < 0) {
        parent_[node] = node;
        used_.push_back(node);
      }
      zone = zone < 0 ? root(node) : join(zone, node);
    }
    grown_[zone] = 1;
  }

  group_rows(nodes);
  std::vector<std::int32_t> failed(groups_.size(), 0);
  std::vector<Index> iterations(groups_.size(), 0);
  std::vector<std::vector<std::int32_t>> moved(groups_.size());
  parallel_for(0, static_cast<Index>(groups_.size()), 1, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    std::vector<std::int32_t> given;
    for (Index g = b; g < e; ++g) {
      const Group& group = groups_[g];
      const Index r = group.root;
      if (grown_[r] == 0) continue;
      members(nodes, group, moved[g], given);
      const bool small = static_cast<Index>(moved[g].size()) <= options.largest_inelastic;
      if (small && rigid_[r] == 0 && age_[r]++ < options.inelastic_solves) {
        const std::span<mesh::Point> u = paths.displacements();
        for (const std::int32_t n : moved[g]) u[n] = reference_[n];
        const std::span members = std::span(order_).subspan(group.begin, static_cast<std::size_t>(group.end - group.begin));
        const ProjectionInfo info = project_onto_constraints({nodes, rows_, members, moved[g]}, change_, u);
        iterations[g] = info.iterations;
        if (given.empty()) keep_momentum(paths, moved[g]);
        if (info.met && paths.within(moved[g], options.most_displacement)) continue;
        failed[g] = 1;
      }
      rigid_[r] = options.rigid ? 1 : 0;
      if (options.rigid && move_rigidly(paths, moved[g], given)) continue;
      failed[g] |= 2;
      // What a solve without solution has left is of no use.
      for (const std::int32_t n : moved[g]) paths.displacements()[n] = reference_[n];
    }
  });
  bool resolved = true;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    grown_[groups_[g].root] = 0;
    counts_.iterations += iterations[g];
    counts_.failed_solves += failed[g] & 1;
    resolved = resolved && (failed[g] & 2) == 0;
    paths.move(moved[g]);
  }
  return resolved;
}

void ImpactZones::keep_momentum(ContactPaths& paths, std::span<const std::int32_t> free) const {
  const ContactNodes& nodes = paths.nodes();
  // Whatever guides a node takes momentum, and nodes of bodies with few coordinates have no masses of their own.
  if (nodes.guided() || std::ranges::any_of(free, [&](std::int32_t n) { return nodes.led_by(n) != nullptr; })) return;
  const std::span<mesh::Point> u = paths.displacements();
  mesh::Point lost = mesh::Point::Zero();
  double mass = 0;
  for (const std::int32_t n : free) {
    const Index i = n;
    lost += (reference_[i] - u[i]) / nodes.inverse_mass(n);
    mass += 1 / nodes.inverse_mass(n);
  }
  for (const std::int32_t n : free) u[n] += lost / mass;
}

bool ImpactZones::can_resolve(const ContactNodes& nodes, const ContactRow& row) {
  // A rigid zone keeps its own elements apart already; it may still meet nodes on given paths that it has not seen.
  std::int32_t zone = -1;
  bool within = true, given = false;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::int32_t node = row.node(k);
    if (nodes.inverse_mass(node) == 0) {
      given = true;
    } else if (parent_[node] < 0) {
      within = false;
    } else {
      within = within && (zone < 0 || root(node) == zone);
      zone = root(node);
    }
  }
  return !within || (zone >= 0 && (given || rigid_[zone] == 0));
}

void ImpactZones::group_rows(const ContactNodes& nodes) {
  order_.resize(rows_.size());
  row_root_.resize(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    order_[i] = static_cast<std::int32_t>(i);
    row_root_[i] = -1;
    for (std::size_t k = 0; k < rows_[i].size(); ++k)
      if (nodes.inverse_mass(rows_[i].node(k)) > 0) {
        row_root_[i] = root(rows_[i].node(k));
        break;
      }
  }
  std::sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
    const std::int32_t x = row_root_[a], y = row_root_[b];
    return x != y ? x < y : a < b;
  });
  groups_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int32_t zone = row_root_[order_[i]];
    if (groups_.empty() || groups_.back().root != zone) groups_.push_back({static_cast<Index>(i), static_cast<Index>(i), zone});
    groups_.back().end = static_cast<Index>(i) + 1;
  }
}

void ImpactZones::members(const ContactNodes& nodes, const Group& group, std::vector<std::int32_t>& free,
                          std::vector<std::int32_t>& given) const {
  free.clear();
  given.clear();
  for (Index i = group.begin; i < group.end; ++i) {
    const ContactRow& row = rows_[order_[i]];
    for (std::size_t k = 0; k < row.size(); ++k) (nodes.inverse_mass(row.node(k)) > 0 ? free : given).push_back(row.node(k));
  }
  if (!nodes.coupled().empty()) {
    std::erase_if(given, [&](std::int32_t n) { return nodes.coupled_of(n) != nullptr; });
    for (const CoupledNodes& body : nodes.coupled())
      if (std::ranges::find(free, body.lead) != free.end())
        for (std::int32_t i = body.first; i < body.first + body.count; ++i)
          if (nodes.inverse_mass(i) > 0) free.push_back(i);
  }
  for (auto* list : {&free, &given}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
}

bool ImpactZones::move_rigidly(ContactPaths& paths, std::span<const std::int32_t> free,
                               std::span<const std::int32_t> given) const {
  const std::span<mesh::Point> u = paths.displacements();
  RigidMotion motion;
  if (given.empty()) {
    motion = rigid_motion(free, paths.nodes(), paths.start(), reference_);
  } else {
    double size = 0;
    for (const std::int32_t n : given) size = std::max(size, u[n].cwiseAbs().maxCoeff());
    const auto common = common_motion(given, paths.start(), u, 1e-12 * size);
    if (!common) return false;
    motion = *common;
  }
  for (const std::int32_t n : free) {
    const Index i = n;
    const mesh::Point d = motion.displacement(paths.start()[i]);
    // A node that may not leave a plane cannot follow a motion that does.
    if ((paths.nodes().free_part(n, d) - d).cwiseAbs().maxCoeff() > 1e-12 * d.norm()) return false;
    u[i] = d;
  }
  return true;
}

ZoneCounts ImpactZones::counts() {
  ZoneCounts counts = counts_;
  std::vector<Index> sizes(parent_.size(), 0);
  for (const std::int32_t n : used_) {
    const Index r = root(n);
    ++sizes[r];
    counts.rigid_nodes += rigid_[r];
  }
  counts.nodes = static_cast<Index>(used_.size());
  for (const std::int32_t n : used_)
    if (parent_[n] == n) {
      ++counts.zones;
      counts.rigid_zones += rigid_[n];
      counts.largest = std::max(counts.largest, sizes[n]);
    }
  return counts;
}

Index ImpactZones::nbytes() const {
  return static_cast<Index>((reference_.capacity() + change_.capacity()) * sizeof(mesh::Point) +
                            (parent_.capacity() + age_.capacity() + used_.capacity() + order_.capacity() + row_root_.capacity()) *
                                sizeof(std::int32_t) +
                            rigid_.capacity() + grown_.capacity() + rows_.capacity() * sizeof(ContactRow) +
                            groups_.capacity() * sizeof(Group));
}

}  // namespace meniscus::collision
