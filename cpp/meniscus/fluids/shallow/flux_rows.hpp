/// Rows of the scheme `flux` of shallow water: limited slopes, hydrostatic reconstruction, fluxes through faces.
///
/// Sources: Audusse, Bouchut, Bristeau, Klein and Perthame 2004 (hydrostatic reconstruction, second order); Harten, Lax and van
/// Leer 1983 (flux); Mueller et al., "Real time physics class notes", (A.10) (equations).
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/shallow/flux_kind.hpp"
#include "meniscus/fluids/shallow/shallow_tiles.hpp"

#include <cmath>

namespace meniscus::fluids {

/// Weight of the one-sided differences in the limiter: 1 is minmod, 2 the steepest slope without new extrema.
inline constexpr double flux_steepness = 1.8;

/// Water on one side of a row of faces.
template <class T>
struct FaceWater {
  TileRow<T> depth, surface, normal, along;
};

/// Flux through a row of faces. That of momentum is without the pressure of the depth on each side, so that it vanishes at rest.
template <class T>
struct FaceFlux {
  TileRow<T> mass, below, above, along;
};

/// Pointers to the first cells of a row; neighbours along the axis are `step` away.
template <class T>
struct FluxCells {
  const T *depth, *normal, *along, *ground, *extra;
  Index step;
};

/// How much faster water may become at most where a pressure on its surface begins.
inline constexpr double flux_narrowing = 8.0;

template <class T>
MENISCUS_INLINE T limited(T a, T b) {
  constexpr T theta = T(flux_steepness);
  const T c = T(0.5) * (a + b);
  const T ta = theta * a, tb = theta * b;
  const T least = ta < tb ? (ta < c ? ta : c) : (tb < c ? tb : c);
  const T most = ta > tb ? (ta > c ? ta : c) : (tb > c ? tb : c);
  return least > T(0) ? least : most < T(0) ? most : T(0);
}

/// Sets the water on both faces of n cells across an axis, and the rise of the surface over each cell. A dry neighbour above the
/// surface is a wall that the surface meets level; dry cells have no slopes. Where it is curved, the acceleration of gravity
/// differs from cell to cell
/// (`extra` is its square root), and depths of neighbours count as those of the same pressure.
template <FluxKind kind, class T>
MENISCUS_INLINE void reconstruct(Index n, const FluxCells<T>& cells, T dry, FaceWater<T>& below, FaceWater<T>& above, T* rise) {
  const T *h = cells.depth, *u = cells.normal, *v = cells.along, *z = cells.ground;
  [[maybe_unused]] const T* root = cells.extra;
  const Index s = cells.step;
#pragma GCC ivdep
  for (Index j = 0; j < n; ++j) {
    const T hc = h[j], zc = z[j], uc = u[j], vc = v[j], wc = hc + zc;
    T hm = h[j - s], hp = h[j + s];
    const T zm = z[j - s], zp = z[j + s];
    const bool dm = hm <= dry, dp = hp <= dry, dc = hc <= dry;
    if constexpr (kind == FluxKind::curved) {
      hm *= root[j - s] / root[j];
      hp *= root[j + s] / root[j];
    }
    const T wm = hm + zm, wp = hp + zp;
    const T sw_m = (dm && zm >= wc) ? T(0) : wc - wm, sw_p = (dp && zp >= wc) ? T(0) : wp - wc;
    const T su_m = dm ? T(0) : uc - u[j - s], su_p = dp ? T(0) : u[j + s] - uc;
    const T sv_m = dm ? T(0) : vc - v[j - s], sv_p = dp ? T(0) : v[j + s] - vc;
    const T half = dc ? T(0) : T(0.5);
    const T sh = half * limited(hc - hm, hp - hc), sw = half * limited(sw_m, sw_p);
    const T su = half * limited(su_m, su_p), sv = half * limited(sv_m, sv_p);
    below.depth[j] = hc - sh;
    above.depth[j] = hc + sh;
    below.surface[j] = wc - sw;
    above.surface[j] = wc + sw;
    below.normal[j] = uc - su;
    above.normal[j] = uc + su;
    below.along[j] = vc - sv;
    above.along[j] = vc + sv;
    rise[j] = sw + sw;
  }
}

/// Sets the flux through n faces from the water below (b) and, from place `offset` on, above (a) them along the axis.
template <FluxKind kind, class T>
MENISCUS_INLINE void face_flux(Index n, const FaceWater<T>& b, const FaceWater<T>& a, Index offset, const T* extra_below,
                               const T* extra_above, T gravity, T dry, FaceFlux<T>& flux) {
  constexpr T tiny = T(1e-30);
#pragma GCC ivdep
  for (Index j = 0; j < n; ++j) {
    const T h1 = b.depth[j], w1 = b.surface[j];
    T u1 = b.normal[j];
    const T h2 = a.depth[j + offset], w2 = a.surface[j + offset];
    T u2 = a.normal[j + offset];
    const T z1 = w1 - h1, z2 = w2 - h2;
    const T z = z1 > z2 ? z1 : z2;
    T l = w1 - z, r = w2 - z;
    l = l > T(0) ? l : T(0);
    r = r > T(0) ? r : T(0);
    T g = gravity;
    if constexpr (kind == FluxKind::curved) {
      const T rb = extra_below[j], ra = extra_above[j], rm = T(0.5) * (rb + ra);
      l *= rb / rm;
      r *= ra / rm;
      g = rm * rm;
    }
    if constexpr (kind == FluxKind::pressed) {
      // Where the pressure jumps the discharge is continuous, not the velocity: else the edge would resist the flow, on any grid.
      const bool edge = extra_below[j] != extra_above[j];
      constexpr T most = T(flux_narrowing);
      u1 *= edge && h1 < most * l ? h1 / (l > dry ? l : dry) : T(1);
      u2 *= edge && h2 < most * r ? h2 / (r > dry ? r : dry) : T(1);
    }
    const T c1 = std::sqrt(g * l), c2 = std::sqrt(g * r);
    const bool d1 = l <= dry, d2 = r <= dry;
    const T v1 = d1 ? u2 : u1, v2 = d2 ? u1 : u2;
    const T left_slow = v1 - c1, right_slow = d1 ? v2 - T(2) * c2 : v2 - c2;
    const T right_fast = v2 + c2, left_fast = d2 ? v1 + T(2) * c1 : v1 + c1;
    T sl = left_slow < right_slow ? left_slow : right_slow;
    T sr = left_fast > right_fast ? left_fast : right_fast;
    sl = sl < T(0) ? sl : T(0);
    sr = sr > T(0) ? sr : T(0);
    const T part = sl / (sr - sl + tiny);
    const T m1 = l * u1, m2 = r * u2;
    const T push = T(0.5) * g * (l - r) * (l + r);
    const T mass = m1 + part * (m1 - m2 + sr * (r - l));
    const T momentum = m1 * u1 + part * (m1 * u1 - m2 * u2 + push + sr * (m2 - m1));
    flux.mass[j] = mass;
    flux.below[j] = momentum;
    flux.above[j] = momentum + push;
    flux.along[j] = mass * (mass > T(0) ? b.along[j] : a.along[j + offset]);
  }
}

}  // namespace meniscus::fluids
