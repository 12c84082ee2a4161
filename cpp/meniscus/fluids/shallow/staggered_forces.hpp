/// Forces on the velocities of single faces, and damping of depths, for the schemes on staggered faces.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/shallow/shallow_tiles.hpp"

#include <cmath>

namespace meniscus::fluids {

/// Depths that damping brings nearer to the level of rest in dt, in all tiles that are worked on.
template <class T>
void damp_depth(const ShallowModel<T>& model, ShallowTiles& tiles, double dt, ShallowFields<T>& water) {
  if (model.damping_u.size() == 0) return;
  const ShallowLayout& at = model.layout;
  tiles.each_active([&](ShallowTile& tile) {
    tile.damped = 0;
    for (Index i = tile.i; i < tile.i + tile.rows; ++i)
      for (Index k = at.at(i, tile.j), end = k + tile.columns; k < end; ++k) {
        const T kept = T(1) / (T(1) + static_cast<T>(dt) * (model.damping_u[k] + model.damping_v[k]));
        const T rest = std::max(model.level[k] - model.bed[k], T(0)), change = (T(1) - kept) * (rest - water.depth[k]);
        water.depth[k] += change;
        tile.damped -= static_cast<double>(change);
      }
  });
}

/// Forces on the faces before the n cells from k on, for dt; those along y begin with cell `first_v`.
template <class T>
MENISCUS_NOINLINE void apply_face_forces(const ShallowModel<T>& model, Index k, Index n, T dt, bool with_u, Index first_v,
                                         const ShallowFields<T>& from, ShallowFields<T>& to) {
  if (model.push_u.size() + model.stress_u.size() + model.manning.size() + model.damping_u.size() + model.wall_u.size() == 0)
    return;
  const T dry = static_cast<T>(model.dry), lightness = static_cast<T>(1 / model.density), g = static_cast<T>(model.gravity);
  const Index s = model.layout.stride;
  const T *h = to.depth.data(), *u = from.u.data(), *v = from.v.data();
  const auto face = [&](Index c, Index back, const T* other, Index aside, const Block<T>& push, const Block<T>& stress,
                        const Block<T>& damping, const Block<std::uint8_t>& wall, T& value) {
    const T mean = T(0.5) * (h[c] + h[c - back]);
    if (value == T(0) && !(mean > dry)) return;
    if (push.size() > 0) value += dt * lightness * T(0.5) * (push[c] + push[c - back]);
    if (stress.size() > 0) value += dt * lightness * T(0.5) * (stress[c] + stress[c - back]) / std::max(mean, dry);
    if (model.manning.size() > 0) {
      const T m = T(0.5) * (model.manning[c] + model.manning[c - back]), depth = std::max(mean, dry), root = std::cbrt(depth);
      const T beside = T(0.25) * (other[c] + other[c + aside] + other[c - back] + other[c - back + aside]);
      const T rate = dt * g * m * m / (root * depth), speed = std::sqrt(value * value + beside * beside);
      value *= T(2) / (T(1) + std::sqrt(T(1) + T(4) * rate * speed));
    }
    if (damping.size() > 0) value /= T(1) + dt * T(0.5) * (damping[c] + damping[c - back]);
    if (wall.size() > 0 && wall[c]) value = T(0);
    value = (value > T(0) ? h[c - back] : h[c]) > dry ? value : T(0);
  };
  for (Index j = 0; with_u && j < n; ++j)
    face(k + j, s, v, 1, model.push_u, model.stress_u, model.damping_u, model.wall_u, to.u[k + j]);
  for (Index j = first_v; j < n; ++j)
    face(k + j, 1, u, s, model.push_v, model.stress_v, model.damping_v, model.wall_v, to.v[k + j]);
}

}  // namespace meniscus::fluids
