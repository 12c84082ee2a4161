/// One group of eight strips in a solve: springs, their energy and derivatives (included by kernels only).
#pragma once

#include "meniscus/solids/hair/banded_lanes.hpp"
#include "meniscus/solids/hair/strips/strip_strands.hpp"
#include "meniscus/solids/springs/altitude_candidates.hpp"

#include <array>
#include <utility>

namespace meniscus::solids::hair::strips {

/// Planes of constants: spring constants to the next three particles and of the altitude, rest lengths, 6 times the rest volume.
enum LawPlane : int { spring_plane = 0, altitude_plane = 3, rest_plane = 4, volume_plane = 7, law_planes = 8 };

inline constexpr int reach = 3;
/// A diagonal entry that no force moves.
inline constexpr double held_diagonal = 1e30;

/// The altitude that each tetrahedron keeps during a solve.
struct Altitudes {
  Pack* candidate;
};

struct StripStrands::Group {
  static constexpr int unknowns = 3, band = 3 * reach + 2;
  Index slots = 0;
  std::array<StrandLane, pack_size> lanes;
  const double* law;
  /// Between planes.
  Index stride = 0;
  /// Part of their rest length below which altitudes act; 0: always.
  double below = 0;

  Pack at(int k, Index slot) const { return load_pack(law + k * stride + pack_size * slot); }
  Pack last_is_free(Index) const { return splat(0.0); }
};

struct StripStrands::Scratch {
  core::Block<double> memory;
  PackVec3 *x, *trial, *target;
  Pack *mass, *free;
  Altitudes now, next;
  Pack *move, *slope, *matrix;

  explicit Scratch(Index most) {
    constexpr int band = Group::band;
    memory = core::Block<double>(pack_size * ((9 + 2 + 1 + 6) * most + 2 * band + band_entries<band>(3 * most)));
    auto* p = reinterpret_cast<Pack*>(memory.data());
    const auto packs = [&](Index n) { return std::exchange(p, p + n); };
    const auto vectors = [&](Index n) { return reinterpret_cast<PackVec3*>(packs(3 * n)); };
    x = vectors(most), trial = vectors(most), target = vectors(most);
    mass = packs(most), free = packs(most);
    now = next = {packs(most)};
    move = packs(3 * most + band), slope = packs(3 * most + band);
    matrix = packs(band_entries<band>(3 * most));
  }
};

/// One altitude of lanes of tetrahedra: signed length, direction, weights of the corners.
struct Altitude {
  Pack length;
  PackVec3 n;
  std::array<Pack, 4> weight;
  /// Squared |u x v|.
  Pack area;
};

MENISCUS_INLINE Altitude altitude_of(const PackVec3* p, int k) {
  const auto& c = altitudes::table[k].corner;
  const bool face = k < int{altitudes::faces};
  const PackVec3 &first = p[c[0]], &base = p[face ? c[1] : c[2]];
  const PackVec3 u = p[face ? c[2] : c[1]] - p[face ? c[1] : c[0]], v = p[c[3]] - base, r = first - base, a = cross(u, v);
  Altitude out;
  out.area = max(dot(a, a), splat(1e-300));
  const Pack one = splat(1.0), inverse = one / out.area, w1 = inverse * dot(cross(r, v), a), w2 = inverse * dot(cross(u, r), a);
  out.n = sqrt(inverse) * a;
  out.length = dot(out.n, r);
  out.weight[c[0]] = face ? one : one + w1;
  out.weight[c[1]] = face ? w1 + w2 - one : -w1;
  out.weight[c[2]] = face ? -w1 : w2 - one;
  out.weight[c[3]] = -w2;
  return out;
}

/// Squared |u x v| of a candidate at rest, from the six rest lengths.
template <class Group>
MENISCUS_INLINE Pack rest_area(const Group& g, Index j, int k) {
  const auto square = [](const Pack& l) { return l * l; };
  // Squares of the edges 01, 02, 03, 12, 13, 23.
  const std::array<Pack, 6> e{square(g.at(rest_plane, j)),         square(g.at(rest_plane + 1, j)),
                              square(g.at(rest_plane + 2, j)),     square(g.at(rest_plane, j + 1)),
                              square(g.at(rest_plane + 1, j + 1)), square(g.at(rest_plane, j + 2))};
  constexpr std::array<std::array<int, 4>, 4> edge{{{-1, 0, 1, 2}, {0, -1, 3, 4}, {1, 3, -1, 5}, {2, 4, 5, -1}}};
  const auto& c = altitudes::table[k].corner;
  const auto of = [&](std::size_t a, std::size_t b) { return e[edge[c[a]][c[b]]]; };
  const Pack half = splat(0.5);
  if (k < int{altitudes::faces}) {
    const Pack uv = half * (of(1, 2) + of(1, 3) - of(2, 3));
    return of(1, 2) * of(1, 3) - uv * uv;
  }
  const Pack uv = half * (of(0, 3) + of(1, 2) - of(0, 2) - of(1, 3));
  return of(0, 1) * of(2, 3) - uv * uv;
}

/// Chooses the shortest altitude of each tetrahedron at x: that with the widest base.
template <class Group>
MENISCUS_INLINE void frames_from_store(const Group& g, const PackVec3* x, const Altitudes& out) {
  for (Index j = 0; j < g.slots; ++j) {
    out.candidate[j] = splat(0.0);
    if (j + reach >= g.slots || !any(g.at(altitude_plane, j) > splat(0.0))) continue;
    Pack widest = splat(0.0);
#pragma GCC unroll 1
    for (int k = 0; k < 7; ++k) {
      const Pack area = altitude_of(x + j, k).area;
      const PackMask wider = area > splat(1 + 1e-9) * widest;
      widest = select(wider, area, widest);
      out.candidate[j] = select(wider, splat(k), out.candidate[j]);
    }
  }
}
template <class Group>
MENISCUS_INLINE void frames_from(const Group&, const PackVec3*, const Pack*, const Altitudes&, const Altitudes&) {}
MENISCUS_INLINE void take_frames(const Altitudes&, const Altitudes&, Index, const PackMask&) {}
template <class Group>
MENISCUS_INLINE void store_frames(const Group&, const Altitudes&) {}

/// Calls f(slot, altitude, compression (m, below 0 where the spring acts), constant) for altitude springs of which a lane acts.
template <class Group, class F>
MENISCUS_INLINE void for_altitudes(const Group& g, const PackVec3* x, const Altitudes& chosen, F&& f) {
  const Pack zero = splat(0.0), one = splat(1.0);
  for (Index j = 1; j + reach < g.slots; ++j) {
    const Pack constant = g.at(altitude_plane, j);
    if (!any(constant > zero)) continue;
    const Pack volume = g.at(volume_plane, j);
#pragma GCC unroll 1
    for (int k = 0; k < 7; ++k) {
      const PackMask mine = (chosen.candidate[j] == splat(k)) & (constant > zero);
      if (!any(mine)) continue;
      Altitude a = altitude_of(x + j, k);
      const Pack rest = abs(volume) / sqrt(max(rest_area(g, j, k), splat(1e-300)));
      const Pack sign = select(volume < zero, -one, one);
      const Pack short_by = sign * a.length - (g.below > 0 ? splat(g.below) * rest : rest);
      PackMask acts = mine;
      if (g.below > 0) acts &= short_by < zero;
      if (!any(acts)) continue;
      a.n = sign * a.n;
      f(j, a, select(acts, short_by, zero), select(acts, constant, zero));
    }
  }
}

template <class Group>
MENISCUS_INLINE Pack elastic_energy(const Group& g, const PackVec3* x, const Altitudes& chosen) {
  Pack sum = splat(0.0);
  const Pack half = splat(0.5);
  for (Index j = 1; j + reach < g.slots; ++j)
#pragma GCC unroll 1
    for (int s = 0; s < reach; ++s) {
      const PackVec3 e = x[j + s + 1] - x[j];
      const Pack stretch = sqrt(dot(e, e)) - g.at(rest_plane + s, j);
      sum += half * g.at(spring_plane + s, j) * stretch * stretch;
    }
  for_altitudes(g, x, chosen, [&](Index, const Altitude&, const Pack& short_by, const Pack& constant) {
    sum += half * constant * short_by * short_by;
  });
  return sum;
}

MENISCUS_INLINE void add_vector(Pack* slope, Index slot, const PackVec3& v) {
  slope[3 * slot] += v.x;
  slope[3 * slot + 1] += v.y;
  slope[3 * slot + 2] += v.z;
}

template <class Group>
MENISCUS_INLINE void elastic_slope(const Group& g, const PackVec3* x, const Altitudes& chosen, Pack* slope) {
  for (Index r = 0; r < 3 * g.slots; ++r) slope[r] = splat(0.0);
  for (Index j = 1; j + reach < g.slots; ++j)
#pragma GCC unroll 1
    for (int s = 0; s < reach; ++s) {
      const PackVec3 e = x[j + s + 1] - x[j];
      const Pack inverse = splat(1.0) / sqrt(max(dot(e, e), splat(1e-300)));
      const PackVec3 pull = (g.at(spring_plane + s, j) * (splat(1.0) - g.at(rest_plane + s, j) * inverse)) * e;
      add_vector(slope, j, -pull);
      add_vector(slope, j + s + 1, pull);
    }
  for_altitudes(g, x, chosen, [&](Index j, const Altitude& a, const Pack& short_by, const Pack& constant) {
#pragma GCC unroll 1
    for (Index c = 0; c < 4; ++c) add_vector(slope, j + c, (constant * short_by * a.weight[c]) * a.n);
  });
}

/// Adds scale a a^T + plain I at the rows of slot p and the columns of slot q <= p.
MENISCUS_INLINE void add_block(Pack* m, Index p, Index q, const Pack& scale, const PackVec3& a, const Pack& plain) {
  constexpr int row = StripStrands::Group::band + 1;
  const Index gap = 3 * (p - q);
  const PackVec3 b = scale * a;
  Pack* const r0 = m + row * (3 * p) + gap;
  Pack* const r1 = r0 + row;
  Pack* const r2 = r1 + row;
  r0[0] += b.x * a.x + plain;
  r1[0] += b.y * a.y + plain;
  r2[0] += b.z * a.z + plain;
  const Pack xy = b.x * a.y, xz = b.x * a.z, yz = b.y * a.z;
  r1[1] += xy, r2[2] += xz, r2[1] += yz;
  if (p != q) r0[-1] += xy, r0[-2] += xz, r1[-1] += yz;
}

/// How much of the tension acts across springs in the matrix.
enum class Sideways { exact_lanes, none };

/// Sets the matrix to the second derivative of the elastic energy; without its indefinite part in lanes that are not `exact`, or
/// along the springs alone. Altitudes act along their directions alone.
template <Sideways sideways = Sideways::exact_lanes, class Group>
MENISCUS_INLINE void elastic_stiffness(const Group& g, const PackVec3* x, const Altitudes& chosen, const PackMask& exact,
                                       Pack* m) {
  const Pack zero = splat(0.0), one = splat(1.0);
  for (Index r = 0; r < band_entries<Group::band>(3 * g.slots); ++r) m[r] = zero;
  for (Index j = 1; j + reach < g.slots; ++j)
#pragma GCC unroll 1
    for (int s = 0; s < reach; ++s) {
      const Pack k = g.at(spring_plane + s, j);
      const PackVec3 e = x[j + s + 1] - x[j];
      const Pack inverse = one / sqrt(max(dot(e, e), splat(1e-300)));
      const PackVec3 d = inverse * e;
      Pack across = zero;
      if constexpr (sideways == Sideways::exact_lanes) {
        across = one - g.at(rest_plane + s, j) * inverse;
        across = k * select(exact, across, max(across, zero));
      }
      const Pack along = k - across;
      add_block(m, j, j, along, d, across);
      add_block(m, j + s + 1, j + s + 1, along, d, across);
      add_block(m, j + s + 1, j, -along, d, -across);
    }
  for_altitudes(g, x, chosen, [&](Index j, const Altitude& a, const Pack&, const Pack& constant) {
#pragma GCC unroll 1
    for (Index p = 0; p < 4; ++p)
#pragma GCC unroll 1
      for (Index q = 0; q <= p; ++q) add_block(m, j + p, j + q, constant * a.weight[p] * a.weight[q], a.n, zero);
  });
}

template <class Group>
MENISCUS_INLINE void complete_stiffness(const Group& g, const Pack* mass, const Pack* free, const Pack& inertia, const Pack&,
                                        Pack* m) {
  const Pack one = splat(1.0), held = splat(held_diagonal);
  for (Index r = 0; r < 3 * g.slots; ++r) m[(Group::band + 1) * r] += inertia * mass[r / 3] + (one - free[r / 3]) * held;
}

template <class Group>
MENISCUS_INLINE Pack greatest_bending(const Group& g) {
  Pack most = splat(0.0);
  for (Index j = 1; j + 1 < g.slots; ++j) most = max(most, g.at(spring_plane + reach - 1, j));
  return most;
}

}  // namespace meniscus::solids::hair::strips
