#include "meniscus/solids/strain_limiting.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <atomic>
#include <cmath>
#include <numeric>

namespace meniscus::solids {
namespace {

constexpr Index limit_chunk = 2048;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// From the first to the second node at the end of the step.
mesh::Point end_of(const std::array<std::int32_t, 2>& nodes, std::span<const mesh::Point> x, std::span<const mesh::Point> v,
                   double dt) {
  return (x[at(nodes[1])] - x[at(nodes[0])]) + dt * (v[at(nodes[1])] - v[at(nodes[0])]);
}

}  // namespace

StrainLimiter::StrainLimiter(std::span<const std::array<std::int32_t, 2>> edges, std::span<const double> rest_lengths,
                             std::span<const double> inverse_masses)
    : inverse_masses_(inverse_masses.begin(), inverse_masses.end()) {
  require(rest_lengths.size() == edges.size(), "there must be a length at rest for each of ", edges.size(), " edges, not ",
          rest_lengths.size());
  for (std::size_t n = 0; n < inverse_masses.size(); ++n)
    require(std::isfinite(inverse_masses[n]) && inverse_masses[n] >= 0,
            "inverse masses must be finite and not negative, but that of node ", n, " is ", inverse_masses[n]);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    for (const std::int32_t n : edges[e])
      require(n >= 0 && at(n) < inverse_masses.size(), "edges must hold indices of ", inverse_masses.size(),
              " nodes, but one of edge ", e, " is ", n);
    require(edges[e][0] != edges[e][1], "the ends of an edge must be different nodes, but both of edge ", e, " are ",
            edges[e][0]);
    require(std::isfinite(rest_lengths[e]) && rest_lengths[e] > 0,
            "lengths at rest must be positive and finite, but that of edge ", e, " is ", rest_lengths[e]);
  }
  numerics::Colouring colouring;
  colouring.colour(std::ssize(edges), std::ssize(inverse_masses), [&](Index e, auto&& visit) {
    for (const std::int32_t n : edges[e])
      if (inverse_masses[at(n)] > 0) visit(at(n));
  });
  colours_.assign(colouring.first().begin(), colouring.first().end());
  edges_.reserve(edges.size());
  for (const std::int32_t e : colouring.order()) edges_.push_back({edges[e], rest_lengths[e]});
}

double StrainLimiter::largest_strain(std::span<const mesh::Point> positions, std::span<const mesh::Point> velocities,
                                     double dt) const {
  return parallel_reduce(
      0, static_cast<Index>(edges_.size()), limit_chunk, 0.0,
      [&](Index b, Index e) {
        double largest = 0;
        for (Index i = b; i < e; ++i)
          largest = std::max(largest, std::abs(end_of(edges_[i].nodes, positions, velocities, dt).norm() / edges_[i].length - 1));
        return largest;
      },
      [](double x, double y) { return std::max(x, y); });
}

StrainReport StrainLimiter::limit(std::span<const mesh::Point> positions, std::span<mesh::Point> velocities, double dt,
                                  const StrainLimits& limits) {
  const std::size_t n = inverse_masses_.size();
  require(positions.size() == n && velocities.size() == n, "there are ", n, " nodes, not ", positions.size(), " positions and ",
          velocities.size(), " velocities");
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, not ", dt);
  require(limits.limit > 0 && limits.limit < 1, "limit must be in (0, 1), not ", limits.limit);
  require(limits.inside > 0 && limits.inside < 1, "inside must be in (0, 1), not ", limits.inside);
  require(limits.sweeps >= 0, "sweeps must not be negative, not ", limits.sweeps);
  mesh::require_finite(positions, "positions");
  mesh::require_finite(velocities, "velocities");
  moved_.assign(velocities.begin(), velocities.end());
  StrainReport report;
  report.before = largest_strain(positions, moved_, dt);
  std::atomic<Index> impulses{0};
  for (Index found = 1; found > 0 && report.sweeps < limits.sweeps; ++report.sweeps) {
    const Index so_far = impulses;
    for (std::size_t c = 0; c + 1 < colours_.size(); ++c)
      parallel_for(colours_[c], colours_[c + 1], limit_chunk, [&](Index b, Index e) {
        Index own = 0;
        for (Index i = b; i < e; ++i) {
          const Edge& edge = edges_[i];
          const double w0 = inverse_masses_[at(edge.nodes[0])];
          const double w1 = inverse_masses_[at(edge.nodes[1])];
          const mesh::Point d = end_of(edge.nodes, positions, moved_, dt);
          const double length = d.norm();
          const double strain = length / edge.length - 1;
          if (std::abs(strain) <= limits.limit || !(length > 0) || w0 + w1 == 0) continue;
          const double wanted = edge.length * (1 + std::copysign(limits.inside * limits.limit, strain));
          const mesh::Point impulse = (wanted - length) / ((w0 + w1) * length * dt) * d;
          if (w0 > 0) moved_[at(edge.nodes[0])] -= w0 * impulse;
          if (w1 > 0) moved_[at(edge.nodes[1])] += w1 * impulse;
          ++own;
        }
        impulses.fetch_add(own, std::memory_order_relaxed);
      });
    found = impulses - so_far;
  }
  report.impulses = impulses;
  report.after = report.impulses == 0 ? report.before : largest_strain(positions, moved_, dt);
  std::ranges::copy(moved_, velocities.begin());
  return report;
}

}  // namespace meniscus::solids
