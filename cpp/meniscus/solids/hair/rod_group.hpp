/// One group of eight strands in a solve: gathered state, frames, energy, derivatives (included by kernels only).
#pragma once

#include "meniscus/solids/hair/rod_kernels.hpp"
#include "meniscus/solids/hair/rod_strands.hpp"

#include <array>
#include <utility>

namespace meniscus::solids::hair {

/// Planes of constants and of state.
enum LawPlane : int {
  bending_plane,
  twisting_plane,
  first_plane,
  second_plane,
  turn_plane,
  stretch_plane,
  rest_plane,
  real_plane,
  loose_plane,
  law_planes
};
enum StatePlane : int { tangent_plane = 0, director_plane = 3, twist_plane = 6, state_planes = 7 };

/// Frames of the edges and twists of the points of a group.
struct Frames {
  PackVec3* t;
  PackVec3* d;
  Pack* m;
  Pack* inverse;
};

/// A diagonal entry that no force moves. Twists of strands that no clamp stops get the second, relative to their stiffness.
inline constexpr double held_diagonal = 1e30;
inline constexpr double loose_twist = 1e-6;

inline constexpr int band = 10;
inline constexpr int band_row = band + 1;

struct RodStrands::Group {
  static constexpr int unknowns = 4, band = hair::band;
  Index slots = 0;
  std::array<StrandLane, pack_size> lanes;
  const double* law;
  double* state;
  /// Between planes.
  Index stride = 0;

  Pack at(LawPlane k, Index slot) const { return load_pack(law + k * stride + pack_size * slot); }
  double* state_at(int k, Index slot) const { return state + k * stride + pack_size * slot; }
  PackVec3 stored(StatePlane k, Index slot) const {
    return {load_pack(state_at(k, slot)), load_pack(state_at(k + 1, slot)), load_pack(state_at(k + 2, slot))};
  }
  /// Whether the fourth unknown of a slot, the twist of the segment behind, is one.
  Pack last_is_free(Index slot) const { return at(real_plane, slot); }
  PointLaw point(Index slot) const {
    return {at(bending_plane, slot), at(twisting_plane, slot), at(first_plane, slot), at(second_plane, slot),
            at(turn_plane, slot)};
  }
};

struct RodStrands::Scratch {
  core::Block<double> memory;
  Index slots;
  PackVec3 *x, *trial, *target;
  Pack *mass, *free;
  Frames now, next;
  Pack *move, *slope, *matrix;

  explicit Scratch(Index most) : slots(most) {
    const Index per_slot = 3 * 3 + 2 + 2 * 8 + 4 + 4, rows = 4 * most;
    memory = core::Block<double>(pack_size * (per_slot * most + 2 * band + band_entries<band>(rows)));
    auto* p = reinterpret_cast<Pack*>(memory.data());
    const auto packs = [&](Index n) { return std::exchange(p, p + n); };
    const auto vectors = [&](Index n) { return reinterpret_cast<PackVec3*>(packs(3 * n)); };
    x = vectors(most), trial = vectors(most), target = vectors(most);
    mass = packs(most), free = packs(most);
    for (Frames* f : {&now, &next}) *f = {vectors(most), vectors(most), packs(most), packs(most)};
    move = packs(4 * most + band), slope = packs(4 * most + band);
    matrix = packs(band_entries<band>(rows));
  }
};

/// Frames at x, from the stored ones, or from `from`, after turns of the edges by `turn` (every fourth value from the fourth on).
template <class Group, class Tangent, class Director, class Twist>
MENISCUS_INLINE void turn_frames(const Group& g, const PackVec3* x, const Pack* turn, Tangent&& tangent, Director&& director,
                                 Twist&& twist, const Frames& out) {
  const Pack zero = splat(0.0), one = splat(1.0), half = splat(0.5);
  Pack before = zero;
  for (Index j = 0; j + 1 < g.slots; ++j) {
    const PackMask real = g.at(real_plane, j) > half;
    const PackVec3 e = x[j + 1] - x[j], t0 = tangent(j);
    const Pack inverse = one / sqrt(max(dot(e, e), splat(1e-300)));
    const PackVec3 t = select(real, inverse * e, t0);
    PackVec3 d = across(transported(director(j), t0, t), t);
    Pack angle = zero;
    if (turn != nullptr) {
      // Turns by 2 atan(q), which is the given angle to second order, and of at most 2: which multiple of 2 pi it is stays known.
      angle = select(real, max(min(turn[4 * j + 3], splat(2.0)), splat(-2.0)), zero);
      const Pack q = half * angle, n = one / (one + q * q);
      d = (n * (one - q * q)) * d + (n * splat(2.0) * q) * cross(t, d);
    }
    out.t[j] = t, out.d[j] = d, out.inverse[j] = select(real, inverse, zero);
    if (j > 0) {
      const PackVec3 carried = transported(out.d[j - 1], out.t[j - 1], t);
      const Pack a = angle_of(dot(carried, d), dot(cross(carried, d), t));
      const Pack expected = twist(j) + angle - before;
      const Pack turns = whole_number((expected - a) * splat(0.15915494309189535));
      out.m[j] = a + turns * splat(6.283185307179586);
    }
    before = angle;
  }
}

template <class Group>
MENISCUS_INLINE void frames_from_store(const Group& g, const PackVec3* x, const Frames& out) {
  turn_frames(
      g, x, nullptr, [&](Index j) { return g.stored(tangent_plane, j); }, [&](Index j) { return g.stored(director_plane, j); },
      [&](Index j) { return load_pack(g.state_at(twist_plane, j)); }, out);
}

template <class Group>
MENISCUS_INLINE void frames_from(const Group& g, const PackVec3* x, const Pack* turn, const Frames& from, const Frames& out) {
  turn_frames(
      g, x, turn, [&](Index j) { return from.t[j]; }, [&](Index j) { return from.d[j]; }, [&](Index j) { return from.m[j]; },
      out);
}

/// Takes the frames of a slot of others where `take`; other lanes keep their bits.
MENISCUS_INLINE void take_frames(const Frames& f, const Frames& from, Index j, const PackMask& take) {
  f.t[j] = select(take, from.t[j], f.t[j]);
  f.d[j] = select(take, from.d[j], f.d[j]);
  f.m[j] = select(take, from.m[j], f.m[j]);
  f.inverse[j] = select(take, from.inverse[j], f.inverse[j]);
}

template <class Group>
MENISCUS_INLINE void store_frames(const Group& g, const Frames& f) {
  for (Index j = 0; j + 1 < g.slots; ++j) {
    const PackVec3 v[2] = {f.t[j], f.d[j]};
    for (int k = 0; k < 2; ++k) {
      store_pack(g.state_at(3 * k, j), v[k].x);
      store_pack(g.state_at(3 * k + 1, j), v[k].y);
      store_pack(g.state_at(3 * k + 2, j), v[k].z);
    }
    if (j > 0) store_pack(g.state_at(twist_plane, j), f.m[j]);
  }
}

MENISCUS_INLINE EdgeFrame edge_frame(const Frames& f, Index j) { return {f.t[j], f.d[j], f.inverse[j]}; }

/// Elastic energy per lane.
template <class Group>
MENISCUS_INLINE Pack elastic_energy(const Group& g, const PackVec3* x, const Frames& f) {
  Pack sum = splat(0.0);
  for (Index j = 1; j + 1 < g.slots; ++j) {
    const PointLaw law = g.point(j);
    sum += point_energy(shape_of(edge_frame(f, j - 1), edge_frame(f, j), law), law, f.m[j] - law.twist);
    const PackVec3 e = x[j + 1] - x[j];
    const Pack stretch = sqrt(dot(e, e)) - g.at(rest_plane, j);
    sum += splat(0.5) * g.at(stretch_plane, j) * stretch * stretch;
  }
  return sum;
}

MENISCUS_INLINE void add_vector(Pack* slope, Index slot, const PackVec3& v) {
  slope[4 * slot] += v.x;
  slope[4 * slot + 1] += v.y;
  slope[4 * slot + 2] += v.z;
}

/// Sets the derivative of the elastic energy by positions and twists, four per slot.
template <class Group>
MENISCUS_INLINE void elastic_slope(const Group& g, const PackVec3* x, const Frames& f, Pack* slope) {
  for (Index r = 0; r < 4 * g.slots; ++r) slope[r] = splat(0.0);
  for (Index j = 1; j + 1 < g.slots; ++j) {
    const PointLaw law = g.point(j);
    const EdgeFrame a = edge_frame(f, j - 1), b = edge_frame(f, j);
    const PointForces p = point_gradient(a, b, law, shape_of(a, b, law), f.m[j] - law.twist);
    const PackVec3 e = x[j + 1] - x[j];
    const Pack pull = g.at(stretch_plane, j) * (sqrt(dot(e, e)) - g.at(rest_plane, j));
    add_vector(slope, j - 1, -p.e);
    add_vector(slope, j, p.e - p.f - pull * b.t);
    add_vector(slope, j + 1, p.f + pull * b.t);
    slope[4 * j - 1] += p.p;
    slope[4 * j + 3] += p.q;
  }
}

/// Adds a block at the rows of slot a and the columns of slot b < a.
MENISCUS_INLINE void add_block(Pack* m, Index a, Index b, const PackMat3& h) {
  const Index gap = 4 * (a - b);
  Pack* const r0 = m + band_row * (4 * a) + gap;
  Pack* const r1 = m + band_row * (4 * a + 1) + gap + 1;
  Pack* const r2 = m + band_row * (4 * a + 2) + gap + 2;
  r0[0] += h.a.x, r0[-1] += h.b.x, r0[-2] += h.c.x;
  r1[0] += h.a.y, r1[-1] += h.b.y, r1[-2] += h.c.y;
  r2[0] += h.a.z, r2[-1] += h.b.z, r2[-2] += h.c.z;
}

MENISCUS_INLINE void add_diagonal_block(Pack* m, Index a, const PackMat3& h) {
  Pack* const r0 = m + band_row * (4 * a);
  Pack* const r1 = r0 + band_row;
  Pack* const r2 = r1 + band_row;
  r0[0] += h.a.x;
  r1[0] += h.b.y, r1[1] += h.a.y;
  r2[0] += h.c.z, r2[1] += h.b.z, r2[2] += h.a.z;
}

/// The entries of a twist (row) with a position before it, or of positions with a twist before them.
MENISCUS_INLINE void add_to_row(Pack* m, Index row, Index column, const PackVec3& v) {
  Pack* const r = m + band_row * row + (row - column);
  r[0] += v.x, r[-1] += v.y, r[-2] += v.z;
}
MENISCUS_INLINE void add_to_column(Pack* m, Index row, Index column, const PackVec3& v) {
  m[band_row * row + row - column] += v.x;
  m[band_row * (row + 1) + row + 1 - column] += v.y;
  m[band_row * (row + 2) + row + 2 - column] += v.z;
}

MENISCUS_INLINE PointStiffness chosen(const PackMask& m, const PointStiffness& p, const PointStiffness& q) {
  return {select(m, p.ee, q.ee), select(m, p.ef, q.ef), select(m, p.ff, q.ff), select(m, p.ep, q.ep), select(m, p.eq, q.eq),
          select(m, p.fp, q.fp), select(m, p.fq, q.fq), select(m, p.pp, q.pp), select(m, p.pq, q.pq), select(m, p.qq, q.qq)};
}

/// Sets the matrix to the second derivative of the elastic energy, without its indefinite part in lanes that are not `exact`.
template <class Group>
MENISCUS_INLINE void elastic_stiffness(const Group& g, const PackVec3* x, const Frames& f, const PackMask& exact, Pack* m) {
  for (Index r = 0; r < band_entries<band>(4 * g.slots); ++r) m[r] = splat(0.0);
  const Pack zero = splat(0.0), one = splat(1.0);
  const bool some = any(~exact);
  for (Index j = 1; j + 1 < g.slots; ++j) {
    const PointLaw law = g.point(j);
    const EdgeFrame a = edge_frame(f, j - 1), b = edge_frame(f, j);
    const PointShape s = shape_of(a, b, law);
    PointStiffness h = exact_stiffness(a, b, law, s, f.m[j] - law.twist);
    if (some) h = chosen(exact, h, definite_stiffness(a, b, law, s));
    const PackVec3 e = x[j + 1] - x[j];
    const Pack k = g.at(stretch_plane, j), length = sqrt(dot(e, e));
    Pack sideways = one - g.at(rest_plane, j) / max(length, splat(1e-300));
    sideways = select(exact, sideways, max(sideways, zero));
    h.ff = h.ff + k * ((one - sideways) * outer(b.t, b.t) + sideways * identity_pack());
    const PackMat3 fe = transposed(h.ef);
    add_diagonal_block(m, j - 1, h.ee);
    add_block(m, j, j - 1, fe - h.ee);
    add_diagonal_block(m, j, h.ee - h.ef - fe + h.ff);
    add_block(m, j + 1, j - 1, splat(-1.0) * fe);
    add_block(m, j + 1, j, fe - h.ff);
    add_diagonal_block(m, j + 1, h.ff);
    const Index p = 4 * j - 1, q = 4 * j + 3;
    add_to_row(m, p, 4 * j - 4, -h.ep);
    add_to_column(m, 4 * j, p, h.ep - h.fp);
    add_to_column(m, 4 * j + 4, p, h.fp);
    add_to_row(m, q, 4 * j - 4, -h.eq);
    add_to_row(m, q, 4 * j, h.eq - h.fq);
    add_to_column(m, 4 * j + 4, q, h.fq);
    m[band_row * p] += h.pp;
    m[band_row * q + 4] += h.pq;
    m[band_row * q] += h.qq;
  }
}

/// Adds `inertia` times the masses, `turning` times the moments of inertia of segments that are as thick as long, and holds what
/// no force moves.
template <class Group>
MENISCUS_INLINE void complete_stiffness(const Group& g, const Pack* mass, const Pack* free, const Pack& inertia,
                                        const Pack& turning, Pack* m) {
  const Pack one = splat(1.0), held = splat(held_diagonal);
  for (Index j = 0; j < g.slots; ++j) {
    const Pack add = inertia * mass[j] + (one - free[j]) * held;
    for (int i = 0; i < 3; ++i) m[band_row * (4 * j + i)] += add;
    m[band_row * (4 * j + 3)] +=
        (one - g.at(real_plane, j)) * held + g.at(loose_plane, j) + turning * mass[j] * g.at(rest_plane, j) * g.at(rest_plane, j);
  }
}

/// Greatest stiffness that the bending of a segment has against a displacement, N/m.
template <class Group>
MENISCUS_INLINE Pack greatest_bending(const Group& g) {
  Pack most = splat(0.0);
  for (Index j = 1; j + 1 < g.slots; ++j) {
    const Pack l = select(g.at(real_plane, j) > splat(0.5), g.at(rest_plane, j), splat(1.0));
    most = max(most, g.at(bending_plane, j) / (l * l));
  }
  return most;
}

}  // namespace meniscus::solids::hair
