/// Repulsion of eight pairs at once: geometry of pairs with a stored orientation, and impulses between plain nodes.
///
/// Sources: those of `repulsion.hpp`; Ericson, "Real-time collision detection", 2005, section 5.1.9 (closest points of segments).
#pragma once

#include "meniscus/numerics/lane_pack.hpp"

namespace meniscus::collision::detail {

using numerics::abs;
using numerics::cross;
using numerics::dot;
using numerics::max;
using numerics::min;
using numerics::Pack;
using numerics::PackMask;
using numerics::PackVec3;
using numerics::select;
using numerics::sqrt;

/// The rules of a sweep, as the kernels need them.
struct SweepRules {
  /// Greatest depth of an inverted pair over its thickness.
  double reach;
  bool history;
  /// Edges: limit of the scalar product, and whether the volume must have changed sign as well.
  double flip;
  bool sided;
  /// Whether edges act where they are nearest at an end. Not where every edge has a face: vertices and faces act there, along the
  /// normal of the face, and the line to an end would push edges of flat sheets along these.
  bool ends;
  /// Impulse of the spring over the overlap, times sum a_i^2; infinite without a spring. 0: no elastic impulse.
  double spring;
  /// Wanted relative velocity over the overlap, 1/s.
  double rate;
  /// Factor of the second term of the elastic impulse.
  double second_term;
  /// Inverse of the common mass; 0 for the masses of the nodes.
  double common;
  bool friction;
  /// Factor of the thickness of all pairs.
  double wider = 1;
};

/// Greatest ratio of the change of velocity of a node to the relative one, squared. Pairs in which those that yield have less
/// weight are left alone: to move the contact, they would jump.
constexpr double least_share = 1e-4;

/// Where pairs begin to act, over their thickness. Pairs that were pushed to the thickness itself, plus or minus rounding, would
/// be out of reach every other step, in which what rests on a slope falls, and creeps.
constexpr double outer = 1 + 1e-10;

struct PairLanes {
  /// From the second element to the first, on the stored side.
  PackVec3 normal;
  /// Those of the second element are negative.
  Pack weights[4];
  Pack overlap;
  PackMask active;
  PackMask inverted;
};

MENISCUS_INLINE Pack unit_interval(const Pack& x) { return min(max(x, numerics::splat(0.0)), numerics::splat(1.0)); }

/// The projection of the vertex may leave the face by the thickness, as the margin of the weights says.
MENISCUS_INLINE PairLanes vertex_face_lanes(const PackVec3 (&x)[4], const Pack& h, const SweepRules& rules) {
  const PackVec3 e2 = x[2] - x[1];
  const PackVec3 e3 = x[3] - x[1];
  const PackVec3 r = x[0] - x[1];
  const PackVec3 n = cross(e2, e3);
  const Pack n2 = dot(n, n);
  const Pack inverse = 1.0 / n2;
  const Pack w2 = dot(cross(r, e3), n) * inverse;
  const Pack w3 = dot(cross(e2, r), n) * inverse;
  const Pack w1 = (1.0 - w2) - w3;
  const PackVec3 e23 = e3 - e2;
  const Pack longest2 = max(max(dot(e2, e2), dot(e3, e3)), dot(e23, e23));
  const Pack margin = h / sqrt(longest2);
  const Pack length = 1.0 / sqrt(n2);
  PairLanes p;
  p.normal = length * n;
  Pack distance = dot(p.normal, r);
  const PackMask below = distance < 0.0;
  if (!rules.history) {
    p.normal = select(below, -p.normal, p.normal);
    distance = abs(distance);
  }
  p.inverted = distance < 0.0;
  p.weights[0] = numerics::splat(1.0);
  p.weights[1] = -w1;
  p.weights[2] = -w2;
  p.weights[3] = -w3;
  p.overlap = h - distance;
  const Pack least = min(min(w1, w2), w3);
  const Pack most = max(max(w1, w2), w3);
  p.active = (least >= -margin) & (most <= 1.0 + margin) & (distance < outer * h) & (distance > -rules.reach * h) &
             (n2 > 1e-24 * longest2 * longest2);
  return p;
}

/// The closest points of two edges: parameters, the vector from the second to the first, and whether the edges are not parallel.
struct ClosestOnEdges {
  Pack s, t;
  PackVec3 between;
  Pack squared;
  PackVec3 across;
  Pack volume;
  Pack a2, b2;
  PackMask skew;
};

MENISCUS_INLINE ClosestOnEdges closest_on_edges(const PackVec3 (&x)[4]) {
  const Pack zero = numerics::splat(0.0);
  const Pack one = numerics::splat(1.0);
  const PackVec3 a = x[1] - x[0];
  const PackVec3 b = x[3] - x[2];
  const PackVec3 r = x[0] - x[2];
  const Pack ab = dot(a, b);
  const Pack ar = dot(a, r);
  ClosestOnEdges q;
  q.a2 = dot(a, a);
  q.b2 = dot(b, b);
  q.across = cross(a, b);
  q.volume = dot(q.across, r);
  const Pack c2 = dot(q.across, q.across);
  q.skew = c2 > 1e-10 * q.a2 * q.b2;
  // Of parallel edges, the middle of the part that lies beside the other edge.
  const Pack to2 = -ar / q.a2;
  const Pack to3 = (ab - ar) / q.a2;
  const Pack middle = 0.5 * (max(zero, min(to2, to3)) + min(one, max(to2, to3)));
  const Pack s = unit_interval(select(q.skew, dot(cross(b, r), q.across) / c2, middle));
  const Pack t = (ab * s + dot(b, r)) / q.b2;
  q.s = select(t < 0.0, unit_interval(to2), select(t > 1.0, unit_interval(to3), s));
  q.t = unit_interval(t);
  q.between = r + q.s * a - q.t * b;
  q.squared = dot(q.between, q.between);
  return q;
}

/// Elements closer than this multiple of their size, squared, touch: the vector between them has no direction.
constexpr double touching = 1e-20;

/// `before`: the direction from the second edge to the first that is remembered.
MENISCUS_INLINE PairLanes edge_edge_lanes(const PackVec3 (&x)[4], const PackVec3& before, const Pack& h,
                                          const SweepRules& rules) {
  const ClosestOnEdges q = closest_on_edges(x);
  Pack distance = sqrt(q.squared);
  const PackVec3 across = (1.0 / sqrt(dot(q.across, q.across))) * q.across;
  PairLanes p;
  p.normal = select(q.squared > touching * (q.a2 + q.b2), (1.0 / distance) * q.between, select(q.skew, across, before));
  p.inverted = dot(before, p.normal) < rules.flip;
  if (rules.sided) p.inverted &= q.volume < 0.0;
  if (!rules.history) p.inverted = numerics::splat(0.0) > 1.0;
  p.normal = select(p.inverted, -p.normal, p.normal);
  distance = select(p.inverted, -distance, distance);
  p.weights[0] = 1.0 - q.s;
  p.weights[1] = q.s;
  p.weights[2] = q.t - 1.0;
  p.weights[3] = -q.t;
  p.overlap = h - distance;
  p.active = (distance < outer * h) & (distance > -rules.reach * h) & (q.a2 > 0.0) & (q.b2 > 0.0);
  if (!rules.ends) p.active &= (q.s > 0.0) & (q.s < 1.0) & (q.t > 0.0) & (q.t < 1.0);
  return p;
}

/// Distance, direction and side of eight pairs, in no particular order of vertices.
struct NearLanes {
  Pack distance;
  /// From the second element to the first, of length 1; of edges only.
  PackVec3 direction;
  /// Of the four vertices, times 6; positive where the order of the vertices holds the side.
  Pack volume;
  /// Neither degenerate, nor in contact, nor of extreme coordinates.
  PackMask sound;
};

MENISCUS_INLINE NearLanes near_edges(const PackVec3 (&x)[4]) {
  const ClosestOnEdges q = closest_on_edges(x);
  NearLanes r;
  r.distance = sqrt(q.squared);
  r.direction = (1.0 / r.distance) * q.between;
  r.volume = q.volume;
  r.sound = (q.squared > touching * (q.a2 + q.b2)) & (q.a2 > 1e-150) & (q.b2 > 1e-150) & (q.squared < 1e150) & (q.a2 < 1e150) &
            (q.b2 < 1e150);
  return r;
}

/// Squared distance of r from the segment from 0 to e.
MENISCUS_INLINE Pack to_segment(const PackVec3& r, const PackVec3& e, const Pack& e2) {
  const PackVec3 d = r - unit_interval(dot(r, e) / e2) * e;
  return dot(d, d);
}

MENISCUS_INLINE NearLanes near_face(const PackVec3 (&x)[4]) {
  const PackVec3 e2 = x[2] - x[1];
  const PackVec3 e3 = x[3] - x[1];
  const PackVec3 e23 = x[3] - x[2];
  const PackVec3 r = x[0] - x[1];
  const PackVec3 n = cross(e2, e3);
  const Pack n2 = dot(n, n);
  const Pack w2 = dot(cross(r, e3), n);
  const Pack w3 = dot(cross(e2, r), n);
  const Pack l2 = dot(e2, e2);
  const Pack l3 = dot(e3, e3);
  const Pack l23 = dot(e23, e23);
  NearLanes p;
  p.volume = dot(n, r);
  const Pack rim = min(min(to_segment(r, e2, l2), to_segment(r, e3, l3)), to_segment(x[0] - x[2], e23, l23));
  p.distance = select((w2 >= 0.0) & (w3 >= 0.0) & (w2 + w3 <= n2), abs(p.volume) / sqrt(n2), sqrt(rim));
  p.direction = n;
  const Pack longest = max(max(l2, l3), l23);
  p.sound = (n2 > 1e-16 * longest * longest) & (min(min(l2, l3), l23) > 1e-70) & (longest < 1e70) & (rim < 1e70);
  return p;
}

/// The impulse along the normal, from relative normal velocity, overlap, inverse mass and sum a_i^2; T is double or Pack.
template <class T, class Less>
MENISCUS_INLINE T normal_impulse(const SweepRules& rules, const T& velocity, const T& overlap, const T& inverse_mass,
                                 const T& squares, Less&& choose) {
  const T zero{};
  const T inelastic = choose(velocity < 0.0, -velocity / inverse_mass, zero);
  if (rules.spring == 0) return inelastic;
  const T rest = rules.rate * overlap - choose(velocity < 0.0, zero, velocity);
  const T spring = rules.spring * overlap / squares;
  const T rated = rules.second_term * rest / inverse_mass;
  return inelastic + choose(rest > 0.0, choose(spring < rated, spring, rated), zero);
}

/// Changes the velocities of four plain nodes in eight pairs. Returns the lanes with an impulse.
MENISCUS_INLINE PackMask respond(const PairLanes& p, PackVec3 (&v)[4], const Pack (&inverse_masses)[4], const Pack& friction,
                                 const SweepRules& rules) {
  const Pack zero = numerics::splat(0.0);
  const Pack(&a)[4] = p.weights;
  const PackVec3 u = a[0] * v[0] + a[1] * v[1] + a[2] * v[2] + a[3] * v[3];
  const Pack squares = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3];
  Pack w[4];
  Pack inverse = zero;
  Pack most = zero;
  for (int k = 0; k < 4; ++k) {
    w[k] = inverse_masses[k];
    if (rules.common > 0) w[k] = select(w[k] > 0.0, numerics::splat(rules.common), zero);
    inverse = inverse + a[k] * a[k] * w[k];
    most = max(most, w[k]);
  }
  const PackMask able = p.active & (inverse > least_share * most);
  if (rules.common > 0) inverse = rules.common * squares;
  const Pack along = dot(p.normal, u);
  const auto choose = [](const PackMask& m, const Pack& yes, const Pack& no) { return m ? yes : no; };
  const Pack j = normal_impulse<Pack>(rules, along, p.overlap, inverse, squares, choose);
  const PackMask acts = able & (j > 0.0);
  PackVec3 impulse = j * p.normal;
  if (rules.friction) {
    const PackVec3 slip = u - along * p.normal;
    const Pack speed = sqrt(dot(slip, slip));
    const Pack against = min(friction * j, speed / inverse) / speed;
    impulse = select(speed > 0.0, impulse - against * slip, impulse);
  }
  for (int k = 0; k < 4; ++k) v[k] = select(acts, v[k] + (a[k] * w[k]) * impulse, v[k]);
  return acts;
}

}  // namespace meniscus::collision::detail
