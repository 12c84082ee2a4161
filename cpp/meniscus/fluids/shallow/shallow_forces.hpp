/// Forces on the momentum of single cells: pushes, wind, friction on the ground, damping toward a level.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/shallow/shallow_model.hpp"

#include <cmath>

namespace meniscus::fluids {

/// Lets forces act on n cells from k on for dt: depth h and momentum over density q, p. Friction is implicit, so that it never
/// turns a flow around; what is steady under a force and friction is so exactly. `damped` gains the depth that damping takes.
template <class T>
MENISCUS_NOINLINE void apply_shallow_forces(const ShallowModel<T>& model, Index k, Index n, T dt, T dry, T* h, T* q, T* p,
                                            T* damped) {
  const T lightness = static_cast<T>(1 / model.density);
  if (model.push_u.size() > 0) {
    const T *a = model.push_u.data() + k, *b = model.push_v.data() + k;
    for (Index j = 0; j < n; ++j) {
      q[j] += dt * lightness * h[j] * a[j];
      p[j] += dt * lightness * h[j] * b[j];
    }
  }
  if (model.stress_u.size() > 0) {
    const T *a = model.stress_u.data() + k, *b = model.stress_v.data() + k;
    for (Index j = 0; j < n; ++j) {
      q[j] += h[j] > dry ? dt * lightness * a[j] : T(0);
      p[j] += h[j] > dry ? dt * lightness * b[j] : T(0);
    }
  }
  if (model.manning.size() > 0) {
    const T* m = model.manning.data() + k;
    const T g = static_cast<T>(model.gravity);
    for (Index j = 0; j < n; ++j) {
      if (h[j] <= dry || m[j] <= T(0)) continue;
      // |u| = |u*| - dt k |u|^2 with k = g m^2 / h^(4/3).
      const T u = q[j] / h[j], v = p[j] / h[j], root = std::cbrt(h[j]);
      const T rate = dt * g * m[j] * m[j] / (root * h[j]);
      const T speed = std::sqrt(u * u + v * v);
      const T kept = T(2) / (T(1) + std::sqrt(T(1) + T(4) * rate * speed));
      q[j] *= kept;
      p[j] *= kept;
    }
  }
  if (model.damping_u.size() > 0) {
    // Velocity along the side is left alone: with it, waves that come in obliquely would be returned.
    const T *a = model.damping_u.data() + k, *b = model.damping_v.data() + k, *level = model.level.data() + k;
    const T* z = model.bed.data() + k;
    for (Index j = 0; j < n; ++j) {
      const T rest = level[j] > z[j] ? level[j] - z[j] : T(0);
      const T change = (T(1) - T(1) / (T(1) + dt * (a[j] + b[j]))) * (rest - h[j]);
      h[j] += change;
      q[j] /= T(1) + dt * a[j];
      p[j] /= T(1) + dt * b[j];
      damped[j] -= change;
    }
  }
}

}  // namespace meniscus::fluids
