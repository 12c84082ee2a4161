#include "meniscus/collision/contact/impact_zones.hpp"

#include "meniscus/collision/contact/rigid_motion.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>

namespace meniscus::collision {
namespace {

/// Relative to the largest displacement of a zone: where iterations end, and what counts as met.
constexpr double solve_tolerance = 1e-13;
constexpr double met = 1e-10;
/// Contradictory constraints (paths that are given pinch a zone) never converge.
constexpr Index most_iterations = 2000;

}  // namespace

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

std::int32_t ImpactZones::root(std::int32_t node) {
  auto i = static_cast<std::size_t>(node);
  while (parent_[i] != static_cast<std::int32_t>(i)) {
    parent_[i] = parent_[static_cast<std::size_t>(parent_[i])];
    i = static_cast<std::size_t>(parent_[i]);
  }
  return static_cast<std::int32_t>(i);
}

std::int32_t ImpactZones::join(std::int32_t a, std::int32_t b) {
  a = root(a);
  b = root(b);
  if (a == b) return a;
  // The lower number leads, so that the order of contacts does not matter.
  const auto [low, high] = std::minmax(a, b);
  const auto l = static_cast<std::size_t>(low), h = static_cast<std::size_t>(high);
  parent_[h] = low;
  rigid_[l] = rigid_[l] | rigid_[h];
  grown_[l] = grown_[l] | grown_[h];
  age_[l] = std::max(age_[l], age_[h]);
  return low;
}

bool ImpactZones::add(ContactPaths& paths, std::span<const PathContact> contacts, const ZoneOptions& options) {
  const ContactNodes& nodes = paths.nodes();
  bool possible = true;
  for (const PathContact& c : contacts) {
    const ContactRow row(nodes, c.vertices, c.weights, c.normal);
    std::int32_t zone = -1;
    bool within = true;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::int32_t node = row.node(k);
      if (nodes.inverse_mass(node) == 0) continue;
      const auto i = static_cast<std::size_t>(node);
      if (parent_[i] < 0) {
        parent_[i] = node;
        used_.push_back(node);
        within = false;
      }
      within = within && (zone < 0 || root(node) == zone);
      zone = zone < 0 ? root(node) : join(zone, node);
    }
    if (zone < 0) {
      possible = false;
      continue;
    }
    // A rigid zone keeps its own elements apart; it may still meet nodes on given paths that it has not seen.
    const bool met_given = [&] {
      for (std::size_t k = 0; k < row.size(); ++k)
        if (nodes.inverse_mass(row.node(k)) == 0) return true;
      return false;
    }();
    if (within && rigid_[static_cast<std::size_t>(zone)] == 1 && !met_given) possible = false;
    grown_[static_cast<std::size_t>(zone)] = 1;
    rows_.push_back(row);
  }
  if (!possible) return false;

  group_rows(nodes);
  std::vector<std::int32_t> failed(groups_.size(), 0);
  std::vector<Index> iterations(groups_.size(), 0);
  std::vector<std::vector<std::int32_t>> moved(groups_.size());
  parallel_for(0, static_cast<Index>(groups_.size()), 1, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    std::vector<std::int32_t> given;
    for (auto g = static_cast<std::size_t>(b); g < static_cast<std::size_t>(e); ++g) {
      const Group& group = groups_[g];
      const auto r = static_cast<std::size_t>(group.root);
      if (grown_[r] == 0) continue;
      members(nodes, group, moved[g], given);
      if (rigid_[r] == 0 && age_[r]++ < options.inelastic_solves) {
        iterations[g] = solve_inelastic(paths, group, moved[g]);
        if (iterations[g] >= 0) continue;
      }
      if (iterations[g] < 0) failed[g] = 1;
      rigid_[r] = 1;
      if (options.rigid && move_rigidly(paths, moved[g], given)) continue;
      failed[g] |= 2;
      // What a solve without solution has left is of no use.
      for (const std::int32_t n : moved[g]) paths.displacements()[static_cast<std::size_t>(n)] = reference_[static_cast<std::size_t>(n)];
    }
  });
  bool resolved = true;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    grown_[static_cast<std::size_t>(groups_[g].root)] = 0;
    counts_.iterations += std::abs(iterations[g]);
    counts_.failed_solves += failed[g] & 1;
    resolved = resolved && (failed[g] & 2) == 0;
    paths.move(moved[g]);
  }
  return resolved;
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
    const std::int32_t x = row_root_[static_cast<std::size_t>(a)], y = row_root_[static_cast<std::size_t>(b)];
    return x != y ? x < y : a < b;
  });
  groups_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int32_t zone = row_root_[static_cast<std::size_t>(order_[i])];
    if (groups_.empty() || groups_.back().root != zone) groups_.push_back({static_cast<Index>(i), static_cast<Index>(i), zone});
    groups_.back().end = static_cast<Index>(i) + 1;
  }
}

void ImpactZones::members(const ContactNodes& nodes, const Group& group, std::vector<std::int32_t>& free,
                          std::vector<std::int32_t>& given) const {
  free.clear();
  given.clear();
  for (Index i = group.begin; i < group.end; ++i) {
    const ContactRow& row = rows_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])];
    for (std::size_t k = 0; k < row.size(); ++k) (nodes.inverse_mass(row.node(k)) > 0 ? free : given).push_back(row.node(k));
  }
  for (auto* list : {&free, &given}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
}

Index ImpactZones::solve_inelastic(ContactPaths& paths, const Group& group, std::span<const std::int32_t> free) {
  const ContactNodes& nodes = paths.nodes();
  const std::span<mesh::Point> u = paths.displacements();
  const auto m = static_cast<std::size_t>(group.end - group.begin);
  const auto row = [&](std::size_t i) -> const ContactRow& {
    return rows_[static_cast<std::size_t>(order_[static_cast<std::size_t>(group.begin) + i])];
  };
  double scale = 0;
  for (const std::int32_t n : free) {
    const auto i = static_cast<std::size_t>(n);
    u[i] = reference_[i];
    scale = std::max(scale, u[i].cwiseAbs().maxCoeff());
  }
  std::vector<double> x(m, 0.0), r(m), z(m), p(m), q(m), inverse(m);
  double worst = 0;
  for (std::size_t i = 0; i < m; ++i) {
    const double diagonal = row(i).inverse_mass(nodes);
    inverse[i] = diagonal > 0 ? 1 / diagonal : 0;
    r[i] = -row(i).relative_normal(u);
    scale = std::max(scale, std::abs(r[i]));
    worst = std::max(worst, std::abs(r[i]));
  }
  // q = C M^-1 C^T p; `change_` is zero before and after.
  const auto spread = [&](const std::vector<double>& lambda) {
    for (std::size_t i = 0; i < m; ++i) row(i).apply(nodes, lambda[i] * row(i).normal(), change_);
  };
  const auto clear = [&] {
    for (const std::int32_t n : free) change_[static_cast<std::size_t>(n)].setZero();
  };
  double rz = 0;
  for (std::size_t i = 0; i < m; ++i) {
    z[i] = inverse[i] * r[i];
    p[i] = z[i];
    rz += r[i] * z[i];
  }
  const Index limit = std::min<Index>(100 + 20 * static_cast<Index>(m), most_iterations);
  Index n = 0;
  for (; n < limit && worst > solve_tolerance * scale && rz > 0; ++n) {
    spread(p);
    double pq = 0;
    for (std::size_t i = 0; i < m; ++i) {
      q[i] = row(i).relative_normal(change_);
      pq += p[i] * q[i];
    }
    clear();
    if (!(pq > 0)) break;
    const double alpha = rz / pq;
    double next = 0;
    worst = 0;
    for (std::size_t i = 0; i < m; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      z[i] = inverse[i] * r[i];
      next += r[i] * z[i];
      worst = std::max(worst, std::abs(r[i]));
    }
    const double beta = next / rz;
    rz = next;
    for (std::size_t i = 0; i < m; ++i) p[i] = z[i] + beta * p[i];
  }
  spread(x);
  for (const std::int32_t k : free) u[static_cast<std::size_t>(k)] += change_[static_cast<std::size_t>(k)];
  clear();
  worst = 0;
  for (std::size_t i = 0; i < m; ++i) worst = std::max(worst, std::abs(row(i).relative_normal(u)));
  return worst <= met * scale ? n : -n - 1;
}

bool ImpactZones::move_rigidly(ContactPaths& paths, std::span<const std::int32_t> free, std::span<const std::int32_t> given) const {
  const std::span<mesh::Point> u = paths.displacements();
  RigidMotion motion;
  if (given.empty()) {
    motion = rigid_motion(free, paths.nodes(), paths.start(), reference_);
  } else {
    double size = 0;
    for (const std::int32_t n : given) size = std::max(size, u[static_cast<std::size_t>(n)].cwiseAbs().maxCoeff());
    const auto common = common_motion(given, paths.start(), u, 1e-12 * size);
    if (!common) return false;
    motion = *common;
  }
  for (const std::int32_t n : free) {
    const auto i = static_cast<std::size_t>(n);
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
    const auto r = static_cast<std::size_t>(root(n));
    ++sizes[r];
    counts.rigid_nodes += rigid_[r];
  }
  counts.nodes = static_cast<Index>(used_.size());
  for (const std::int32_t n : used_)
    if (parent_[static_cast<std::size_t>(n)] == n) {
      ++counts.zones;
      counts.rigid_zones += rigid_[static_cast<std::size_t>(n)];
      counts.largest = std::max(counts.largest, sizes[static_cast<std::size_t>(n)]);
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
