/// Steps and equilibria of strands by Newton's method, eight at a time, with a banded factorisation (included by kernels only).
///
/// What a model of strands brings is found beside its `Group`: frames_from_store, frames_from, take_frames, store_frames,
/// elastic_energy, elastic_slope, elastic_stiffness, complete_stiffness, greatest_bending.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/solids/hair/banded_lanes.hpp"
#include "meniscus/solids/hair/strand_groups.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>

namespace meniscus::solids::strand_newton {
using namespace numerics;
using hair::factorise_band, hair::for_points, hair::gather, hair::solve_band, hair::StrandReport, hair::StrandStep;
using mesh::Point;

inline constexpr int most_halvings = 12;
/// A change of the merit below this multiple of it is rounding.
inline constexpr double rounding = 1e-13;

/// Energy, less the work of a given acceleration, plus inertia / 2 times mass times the squared distances from the targets.
struct Merit {
  PackVec3 acceleration;
  Pack inertia;
};

template <class Group, class Scratch, class Frames>
MENISCUS_INLINE Pack merit(const Group& g, const Scratch& s, const Merit& m, const PackVec3* x, const Frames& f) {
  Pack sum = splat(0.0);
  for (Index j = 1; j + 1 < g.slots; ++j) {
    const PackVec3 off = x[j] - s.target[j];
    sum += s.mass[j] * (splat(0.5) * m.inertia * dot(off, off) - dot(m.acceleration, off));
  }
  return sum + elastic_energy(g, x, f);
}

/// Sets `move` to minus the derivative of the merit.
template <class Group, class Scratch>
MENISCUS_INLINE void descent(const Group& g, const Scratch& s, const Merit& m) {
  constexpr int n = Group::unknowns;
  elastic_slope(g, s.x, s.now, s.slope);
  for (Index j = 0; j < g.slots; ++j) {
    const PackVec3 off = s.x[j] - s.target[j];
    const PackVec3 inertia = s.mass[j] * (m.inertia * off - m.acceleration);
    s.slope[n * j] += inertia.x, s.slope[n * j + 1] += inertia.y, s.slope[n * j + 2] += inertia.z;
    for (int i = 0; i < 3; ++i) s.move[n * j + i] = -(s.free[j] * s.slope[n * j + i]);
    if constexpr (n == 4) s.move[n * j + 3] = -(g.last_is_free(j) * s.slope[n * j + 3]);
  }
}

/// Solves for the move; with `fallback` by the definite matrix in lanes where the exact one is not. Returns lanes without
/// solution.
template <class Group, class Scratch>
MENISCUS_INLINE PackMask solve(const Group& g, const Scratch& s, const Pack& inertia, bool fallback) {
  constexpr int n = Group::unknowns;
  PackMask exact = splat(0.0) == splat(0.0), bad = exact;
  for (int k = 0; k < (fallback ? 2 : 1) && any(bad); ++k) {
    elastic_stiffness(g, s.x, s.now, exact, s.matrix);
    complete_stiffness(g, s.mass, s.free, inertia, fallback ? splat(0.0) : inertia, s.matrix);
    bad = factorise_band<Group::band>(s.matrix, n * g.slots);
    exact = ~bad;
  }
  solve_band<Group::band>(s.matrix, n * g.slots, s.move);
  return bad;
}

/// Takes what part of the move lowers the merit, per lane; `part` is 1 or less at the start, 0 where nothing is to be moved.
/// Returns the largest change of a position per lane.
template <class Group, class Scratch>
MENISCUS_INLINE Pack search_line(const Group& g, Scratch& s, const Merit& m, Pack& value, Pack& part, int halvings) {
  constexpr int n = Group::unknowns;
  const Pack zero = splat(0.0), half = splat(0.5);
  Pack expected = zero;
  const PackMask moves = part > zero;  // others may have moves that are no numbers
  for (Index j = 0; j < g.slots; ++j) {
    for (int i = 0; i < n; ++i) {
      const Pack w = i < 3 ? s.free[j] : g.last_is_free(j);
      s.move[n * j + i] = select(moves & (w > half), s.move[n * j + i], zero);
      expected -= s.slope[n * j + i] * s.move[n * j + i];
    }
  }
  Pack change = zero;
  for (int k = 0;; ++k) {
    change = zero;
    for (Index j = 0; j < g.slots; ++j) {
      const PackVec3 d{part * s.move[n * j], part * s.move[n * j + 1], part * s.move[n * j + 2]};
      s.trial[j] = s.x[j] + d;
      change = max(change, dot(d, d));
      if constexpr (n == 4) s.slope[4 * j + 3] = part * s.move[4 * j + 3];  // the derivative is not needed any more
    }
    frames_from(g, s.trial, s.slope, s.now, s.next);
    const Pack there = merit(g, s, m, s.trial, s.next);
    const PackMask good = there <= value - splat(1e-4) * part * expected + splat(rounding) * (abs(value) + abs(there));
    if (!any(~good & (part > zero)) || k == halvings) {
      const PackMask take = good & (part > zero);
      // Lanes that keep their place keep the bits of their frames.
      for (Index j = 0; j < g.slots; ++j) {
        s.x[j] = select(take, s.trial[j], s.x[j]);
        take_frames(s.now, s.next, j, take);
      }
      part = select(take, part, zero);
      value = select(take, there, value);
      return sqrt(select(take, change, zero));
    }
    part = select(good, part, half * part);
  }
}

/// Advances positions and velocities; points with held != 0 go to `targets` in a straight line.
template <class Strands>
StrandReport step(const Strands& strands, const StrandStep& o, std::span<Point> x, std::span<Point> v,
                  std::span<const double> masses, std::span<const std::uint8_t> held, std::span<const Point> targets) {
  core::require(o.dt > 0 && std::isfinite(o.dt), "dt must be positive");
  std::atomic<int> most{0};
  std::atomic<Index> unfinished{0};
  const double h = o.midpoint ? 0.5 * o.dt : o.dt;
  strands.for_groups([&](const auto& g, auto& s, Index n) {
    const Pack zero = splat(0.0), one = splat(1.0);
    gather(g, x, s.x);
    for (Index j = 0; j < g.slots; ++j) s.mass[j] = s.free[j] = zero;
    // Inertia goes to x + h v; the drag, implicit, is part of it.
    const double slower = 1 / (1 + o.drag * h), inertia = (1 + o.drag * h) / (h * h);
    for (Index j = 0; j < g.slots; ++j) s.target[j] = s.trial[j] = s.x[j];
    for_points(g, [&](int l, Index j, Index p) {
      const bool free = held[p] == 0;
      s.mass[j][l] = free ? masses[p] : 0.0;
      s.free[j][l] = free ? 1.0 : 0.0;
      for (int c = 0; c < 3; ++c) {
        Pack* const target = reinterpret_cast<Pack*>(s.target + j) + c;
        Pack* const trial = reinterpret_cast<Pack*>(s.trial + j) + c;
        const double at = x[p][c], aim = o.midpoint ? 0.5 * (at + targets[p][c]) : targets[p][c];
        (*target)[l] = free ? at + slower * h * (v[p][c] + h * o.gravity[c]) : aim;
        (*trial)[l] = free ? at + h * v[p][c] : aim;
      }
    });
    std::swap(s.x, s.trial);
    frames_from_store(g, s.x, s.now);
    Pack length = one;
    strands.per_strand(n, [&](int l, Index strand) { length[l] = strands.length(strand); });
    const Merit m{{zero, zero, zero}, splat(inertia)};
    Pack value = merit(g, s, m, s.x, s.now);
    PackMask busy = length > zero;
    int k = 0;
    for (; k < o.max_newton && any(busy); ++k) {
      descent(g, s, m);
      const PackMask bad = solve(g, s, m.inertia, true);
      Pack part = select(busy & ~bad, one, zero);
      const Pack change = search_line(g, s, m, value, part, most_halvings);
      busy = busy & (change > splat(o.tolerance) * length);
    }
    Index open = 0;
    for (int l = 0; l < pack_size; ++l)
      if (busy[l]) ++open;
    if (open > 0) unfinished += open;
    for (int seen = most.load(); k > seen && !most.compare_exchange_weak(seen, k);) {
    }
    if (o.midpoint) {
      store_frames(g, s.now);
      for_points(g, [&](int l, Index j, Index p) {
        const double at[3] = {s.x[j].x[l], s.x[j].y[l], s.x[j].z[l]};
        for (int c = 0; c < 3; ++c) {
          const double end = held[p] == 0 ? 2 * at[c] - x[p][c] : targets[p][c];
          v[p][c] = held[p] == 0 ? 2 * (at[c] - x[p][c]) / h - v[p][c] : (end - x[p][c]) / o.dt;
          x[p][c] = end;
        }
      });
      gather(g, x, s.trial);
      frames_from_store(g, s.trial, s.next);
      store_frames(g, s.next);
      return;
    }
    store_frames(g, s.now);
    for_points(g, [&](int l, Index j, Index p) {
      const double at[3] = {s.x[j].x[l], s.x[j].y[l], s.x[j].z[l]};
      for (int c = 0; c < 3; ++c) {
        const double end = held[p] == 0 ? at[c] : targets[p][c];
        v[p][c] = (end - x[p][c]) / o.dt;
        x[p][c] = end;
      }
    });
  });
  return {most.load(), unfinished.load()};
}

/// Goes downhill to an equilibrium under gravity.
template <class Strands>
StrandReport equilibrium(const Strands& strands, const Point& gravity, std::span<Point> x, std::span<const double> masses,
                         std::span<const std::uint8_t> held, int iterations, double tolerance) {
  std::atomic<int> most{0};
  std::atomic<Index> unfinished{0};
  strands.for_groups([&](const auto& g, auto& s, Index n) {
    const Pack zero = splat(0.0), one = splat(1.0);
    gather(g, x, s.x);
    for (Index j = 0; j < g.slots; ++j) s.mass[j] = s.free[j] = zero, s.target[j] = s.x[j];
    for_points(g, [&](int l, Index j, Index p) {
      s.mass[j][l] = held[p] == 0 ? masses[p] : 0.0;
      s.free[j][l] = held[p] == 0 ? 1.0 : 0.0;
    });
    frames_from_store(g, s.x, s.now);
    Pack length = one, mass = zero;
    strands.per_strand(n, [&](int l, Index strand) { length[l] = strands.length(strand); });
    for (Index j = 1; j + 1 < g.slots; ++j) mass = max(mass, s.mass[j]);
    const Pack stiffness = greatest_bending(g);
    // Steps are kept short by inertia until they succeed. A hundredth of the bending of a segment is little, and 1e-12 of it
    // nothing.
    const Pack unit = select(mass > zero, stiffness / select(mass > zero, mass, one), zero);
    Pack damping = splat(1e-2) * unit;
    const Merit m{{splat(gravity[0]), splat(gravity[1]), splat(gravity[2])}, zero};
    Pack value = merit(g, s, m, s.x, s.now);
    PackMask busy = (length > zero) & (mass > zero);
    int k = 0;
    for (; k < iterations && any(busy); ++k) {
      descent(g, s, m);
      const PackMask bad = solve(g, s, damping, false);
      Pack part = select(busy & ~bad, one, zero);
      const Pack change = search_line(g, s, m, value, part, 2);
      const PackMask well = part > splat(0.9);
      const PackMask last = well & (change <= splat(tolerance) * length) & (damping <= splat(1e-12) * unit);
      damping = select(well, splat(0.2) * damping, select(part > zero, damping, splat(8.0) * max(damping, splat(1e-9) * unit)));
      busy = busy & ~last;
    }
    Index open = 0;
    for (int l = 0; l < pack_size; ++l)
      if (busy[l]) ++open;
    if (open > 0) unfinished += open;
    for (int seen = most.load(); k > seen && !most.compare_exchange_weak(seen, k);) {
    }
    store_frames(g, s.now);
    for_points(g, [&](int l, Index j, Index p) { x[p] = Point(s.x[j].x[l], s.x[j].y[l], s.x[j].z[l]); });
  });
  return {most.load(), unfinished.load()};
}

/// Whether the second derivative of the energy is positive definite, per strand, with held points.
template <class Strands>
void stable(const Strands& strands, std::span<const Point> x, std::span<const std::uint8_t> held, std::span<std::uint8_t> out) {
  strands.for_groups([&](const auto& g, auto& s, Index n) {
    gather(g, x, s.x);
    for (Index j = 0; j < g.slots; ++j) s.mass[j] = s.free[j] = splat(0.0);
    for_points(g, [&](int l, Index j, Index p) { s.free[j][l] = held[p] == 0 ? 1.0 : 0.0; });
    frames_from_store(g, s.x, s.now);
    elastic_stiffness(g, s.x, s.now, splat(0.0) == splat(0.0), s.matrix);
    complete_stiffness(g, s.mass, s.free, splat(0.0), splat(0.0), s.matrix);
    constexpr int unknowns = std::decay_t<decltype(g)>::unknowns;
    const PackMask bad = factorise_band<std::decay_t<decltype(g)>::band>(s.matrix, unknowns * g.slots);
    strands.per_strand(n, [&](int l, Index strand) { out[strand] = bad[l] ? 0 : 1; });
  });
}

}  // namespace meniscus::solids::strand_newton
