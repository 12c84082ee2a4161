// Steps and equilibria of strips.
#include "meniscus/solids/hair/strand_newton.hpp"
#include "meniscus/solids/hair/strips/strip_loops.hpp"

#include <cmath>

namespace meniscus::solids::hair::strips {
using mesh::Point;

StrandReport StripStrands::step(const StrandStep& options, Points x, Points v, std::span<const double> masses,
                                std::span<const std::uint8_t> held, ConstPoints targets) {
  return strand_newton::step(*this, options, x, v, masses, held, targets);
}

StrandReport StripStrands::equilibrium(const Point& gravity, Points x, std::span<const double> masses,
                                       std::span<const std::uint8_t> held, int iterations, double tolerance) {
  return strand_newton::equilibrium(*this, gravity, x, masses, held, iterations, tolerance);
}

void StripStrands::stable(ConstPoints x, std::span<const std::uint8_t> held, std::span<std::uint8_t> out) const {
  strand_newton::stable(*this, x, held, out);
}

namespace {

/// Sets `move` to velocities in the middle of a step: v + h / m (forces at x), implicit in the springs along their directions.
/// `target` has the old velocities, and those of held points.
template <class Group, class Scratch>
MENISCUS_INLINE void half_step(const Group& g, const Scratch& s, const StrandStep& o, double h) {
  const Pack one = splat(1.0), step = splat(h), square = splat(h * h);
  elastic_slope(g, s.x, s.now, s.slope);
  elastic_stiffness<Sideways::none>(g, s.x, s.now, one > one, s.matrix);
  for (Index r = 0; r < band_entries<Group::band>(3 * g.slots); ++r) s.matrix[r] *= square;
  // Held points move by their own velocities, whose part in the forces of their neighbours comes first.
  constexpr int row = Group::band + 1;
  const Index rows = 3 * g.slots;
  const auto component = [](const PackVec3& v, Index i) { return i == 0 ? v.x : i == 1 ? v.y : v.z; };
  for (Index r = 0; r < rows; ++r) {
    const Pack free = s.free[r / 3];
    const Pack gravity = splat(o.gravity[static_cast<int>(r % 3)]);
    s.move[r] = free * (s.mass[r / 3] * (component(s.target[r / 3], r % 3) + step * gravity) - step * s.slope[r]);
  }
  for (Index r = 0; r < rows; ++r) {
    const Pack held = one - s.free[r / 3], speed = held * component(s.target[r / 3], r % 3);
    if (!any(speed != splat(0.0))) continue;
    for (Index k = 1; k <= Group::band; ++k) {
      if (k <= r) s.move[r - k] -= s.free[(r - k) / 3] * s.matrix[row * r + k] * speed;
      if (r + k < rows) s.move[r + k] -= s.free[(r + k) / 3] * s.matrix[row * (r + k) + k] * speed;
    }
  }
  complete_stiffness(g, s.mass, s.free, splat(1 + o.drag * h), one, s.matrix);
  factorise_band<Group::band>(s.matrix, rows);
  solve_band<Group::band>(s.matrix, rows, s.move);
  for (Index r = 0; r < rows; ++r) s.move[r] = select(s.free[r / 3] > splat(0.5), s.move[r], component(s.target[r / 3], r % 3));
}

}  // namespace

void StripStrands::newmark(const StrandStep& o, const Limits& limits, Points x, Points v, std::span<const double> masses,
                           std::span<const std::uint8_t> held, ConstPoints targets) {
  core::require(o.dt > 0 && std::isfinite(o.dt), "dt must be positive");
  const double h = 0.5 * o.dt;
  for_groups([&](const Group& g, Scratch& s, Index n) {
    const Pack zero = splat(0.0);
    gather(g, x, s.x);
    for (Index j = 0; j < g.slots; ++j) s.mass[j] = s.free[j] = zero, s.target[j] = {zero, zero, zero};
    for_points(g, [&](int l, Index j, Index p) {
      const bool free = held[p] == 0;
      s.mass[j][l] = free ? masses[p] : 0.0;
      s.free[j][l] = free ? 1.0 : 0.0;
      const Point speed = free ? v[p] : Point((targets[p] - x[p]) / o.dt);
      s.target[j].x[l] = speed[0], s.target[j].y[l] = speed[1], s.target[j].z[l] = speed[2];
    });
    frames_from_store(g, s.x, s.now);
    half_step(g, s, o, h);
    // New positions, limited from root to tip; then the second solve from the positions between.
    for_points(g, [&](int l, Index j, Index p) {
      s.trial[j].x[l] = x[p][0], s.trial[j].y[l] = x[p][1], s.trial[j].z[l] = x[p][2];
      if (held[p] != 0) {
        x[p] = targets[p];
      } else {
        for (int c = 0; c < 3; ++c) x[p][c] += o.dt * s.move[3 * j + c][l];
      }
    });
    if (!limits.parents.empty())
      per_strand(n, [&](int, Index strand) { limit_lengths({&offsets_[strand], 2}, limits.parents, limits.longest, x); });
    for_points(g, [&](int l, Index j, Index p) {
      s.x[j].x[l] = 0.5 * (s.trial[j].x[l] + x[p][0]);
      s.x[j].y[l] = 0.5 * (s.trial[j].y[l] + x[p][1]);
      s.x[j].z[l] = 0.5 * (s.trial[j].z[l] + x[p][2]);
    });
    half_step(g, s, o, h);
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) v[p][c] = held[p] == 0 ? 2 * s.move[3 * j + c][l] - v[p][c] : s.move[3 * j + c][l];
    });
  });
}

void limit_lengths(std::span<const std::int64_t> offsets, std::span<const std::int32_t> parents, std::span<const double> longest,
                   std::span<Point> x) {
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    for (Index p = offsets[s]; p < offsets[s + 1]; ++p) {
      if (parents[p] < 0) continue;
      const Point d = x[p] - x[parents[p]];
      const double length = d.norm();
      if (length > longest[p]) x[p] = x[parents[p]] + (longest[p] / length) * d;
    }
}

}  // namespace meniscus::solids::hair::strips
