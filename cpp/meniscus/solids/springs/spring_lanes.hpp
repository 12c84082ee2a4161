/// Kernels of springs over half springs, as plain loops over lanes of nodes for the vectoriser (included by kernels only).
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/solids/springs/sliced_ellpack.hpp"
#include "meniscus/solids/springs/stress_strain.hpp"

#include <cmath>

namespace meniscus::solids::lanes {

/// A spring has no direction at and below this multiple of its rest length.
inline constexpr double collapsed = 1e-12;

inline constexpr int count = SlicedEllpack::lanes;
using Values = std::array<double, static_cast<std::size_t>(count)>;

/// One vector per node of a slice.
struct Vectors {
  Values x;
  Values y;
  Values z;
};

/// The half springs, with one coefficient for each.
struct HalfSprings {
  const SlicedEllpack& slices;
  const double* rest_length;
  const double* coefficient;
  /// Per spring, for those that have collapsed; or null.
  const mesh::Point* last_direction;
};

/// A slice and its input vectors: those of its own nodes, and all.
struct Slice {
  Index first_row;
  Index end_row;
  const std::int32_t* node;
  const double* all;
  const Vectors& own;
};

MENISCUS_INLINE void load(const double* all, const std::int32_t* node, Vectors& own) {
  for (int l = 0; l < count; ++l) {
    const std::int32_t i = 3 * node[l];
    own.x[l] = all[i];
    own.y[l] = all[i + 1];
    own.z[l] = all[i + 2];
  }
}

/// total[node] += scale * (sum of `kernel` over the half springs of the node).
template <class Kernel>
void for_slices(const SlicedEllpack& slices, std::span<const mesh::Point> vectors, std::span<mesh::Point> total, double scale,
                Kernel&& kernel) {
  const double* const all = vectors.empty() ? nullptr : vectors.data()->data();
  double* const out = total.empty() ? nullptr : total.data()->data();
  parallel_for(0, slices.slices(), SlicedEllpack::chunk, [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index s = begin; s < end; ++s) {
        Vectors own;
        Vectors sum;
        sum.x.fill(0);
        sum.y.fill(0);
        sum.z.fill(0);
        const std::int32_t* const node = slices.nodes_of(s);
        load(all, node, own);
        kernel(Slice{slices.first_row(s), slices.first_row(s + 1), node, all, own}, sum);
        const int used = slices.used(s);
        for (int l = 0; l < used; ++l) {
          double* const f = out + 3 * Index{node[l]};
          f[0] += scale * sum.x[l];
          f[1] += scale * sum.y[l];
          f[2] += scale * sum.z[l];
        }
      }
    });
  });
}

/// Calls body(node, spring) for the springs of every node in a fixed order; the nodes in parallel.
template <class Body>
void for_halves(const SlicedEllpack& slices, Body&& body) {
  parallel_for(0, slices.slices(), SlicedEllpack::chunk, [&](Index begin, Index end) {
    for (Index s = begin; s < end; ++s)
      for (int l = 0; l < slices.used(s); ++l) {
        const Index node = slices.nodes_of(s)[l];
        for (Index r = slices.first_row(s); r < slices.first_row(s + 1); ++r) {
          const std::int32_t half = slices.springs()[count * r + l];
          if (half == SlicedEllpack::none) break;
          body(node, static_cast<std::size_t>(half >= 0 ? half : -1 - half));
        }
      }
  });
}

MENISCUS_INLINE void linear_forces(const HalfSprings& half, const Slice& slice, Vectors& sum) {
  const Vectors& own = slice.own;
  const double* const all = slice.all;
  for (Index r = slice.first_row; r < slice.end_row; ++r) {
    const std::int32_t* const partner = half.slices.partners().data() + count * r;
    const double* const l0 = half.rest_length + count * r;
    const double* const k = half.coefficient + count * r;
    for (int l = 0; l < count; ++l) {
      const std::int32_t j = 3 * partner[l];
      const double dx = all[j] - own.x[l];
      const double dy = all[j + 1] - own.y[l];
      const double dz = all[j + 2] - own.z[l];
      const double length = std::sqrt(dx * dx + dy * dy + dz * dz);
      const double pull = length > collapsed * l0[l] ? k[l] * (length - l0[l]) / length : 0;
      sum.x[l] += pull * dx;
      sum.y[l] += pull * dy;
      sum.z[l] += pull * dz;
    }
  }
}

/// The unit vectors to the partners in a row, and the lengths; zero vectors where a spring has collapsed and has no last
/// direction.
MENISCUS_INLINE void directions(const HalfSprings& half, const double* all, const Vectors& own, Index row, Vectors& d,
                                Values& length) {
  const std::int32_t* const partner = half.slices.partners().data() + count * row;
  const double* const l0 = half.rest_length + count * row;
  int any = 0;
  for (int l = 0; l < count; ++l) {
    const std::int32_t j = 3 * partner[l];
    const double dx = all[j] - own.x[l];
    const double dy = all[j + 1] - own.y[l];
    const double dz = all[j + 2] - own.z[l];
    length[l] = std::sqrt(dx * dx + dy * dy + dz * dz);
    const bool live = length[l] > collapsed * l0[l];
    const double inverse = live ? 1 / length[l] : 0;
    d.x[l] = dx * inverse;
    d.y[l] = dy * inverse;
    d.z[l] = dz * inverse;
    any |= live ? 0 : 1;
  }
  if (half.last_direction == nullptr || any == 0) return;
  const std::int32_t* const spring = half.slices.springs().data() + count * row;
  for (int l = 0; l < count; ++l) {
    if (length[l] > collapsed * l0[l] || spring[l] == SlicedEllpack::none) continue;
    const mesh::Point& last = half.last_direction[spring[l] >= 0 ? spring[l] : -1 - spring[l]];
    const double sign = spring[l] >= 0 ? 1 : -1;
    d.x[l] = sign * last[0];
    d.y[l] = sign * last[1];
    d.z[l] = sign * last[2];
  }
}

/// k l0 stress(strain): the tensions in a row.
MENISCUS_INLINE void tensions(const HalfSprings& half, const StressStrain& law, Index row, const Values& length, Values& pull) {
  const double* const l0 = half.rest_length + count * row;
  const double* const k = half.coefficient + count * row;
  if (law.linear()) {
    for (int l = 0; l < count; ++l) pull[l] = k[l] * (length[l] - l0[l]);
    return;
  }
  Values strain;
  for (int l = 0; l < count; ++l) strain[l] = (length[l] - l0[l]) / l0[l];
  law.stresses(strain, pull);
  for (int l = 0; l < count; ++l) pull[l] = k[l] * (l0[l] * pull[l]);
}

MENISCUS_INLINE void general_forces(const HalfSprings& half, const StressStrain& law, const Slice& slice, Vectors& sum) {
  for (Index r = slice.first_row; r < slice.end_row; ++r) {
    Vectors d;
    Values length;
    Values pull;
    directions(half, slice.all, slice.own, r, d, length);
    tensions(half, law, r, length, pull);
    for (int l = 0; l < count; ++l) {
      sum.x[l] += pull[l] * d.x[l];
      sum.y[l] += pull[l] * d.y[l];
      sum.z[l] += pull[l] * d.z[l];
    }
  }
}

/// Changes of the forces at `x` under the slice's vectors; the stiffness across a spring is kept within [least, most].
MENISCUS_INLINE void linear_differentials(const HalfSprings& half, const double* x, double least, double most, const Slice& slice,
                                          Vectors& sum) {
  const Vectors& own = slice.own;
  const double* const all = slice.all;
  Vectors at;
  load(x, slice.node, at);
  for (Index r = slice.first_row; r < slice.end_row; ++r) {
    const std::int32_t* const partner = half.slices.partners().data() + count * r;
    const double* const l0 = half.rest_length + count * r;
    const double* const k = half.coefficient + count * r;
    for (int l = 0; l < count; ++l) {
      const std::int32_t j = 3 * partner[l];
      const double dx = x[j] - at.x[l];
      const double dy = x[j + 1] - at.y[l];
      const double dz = x[j + 2] - at.z[l];
      const double ux = all[j] - own.x[l];
      const double uy = all[j + 1] - own.y[l];
      const double uz = all[j + 2] - own.z[l];
      const double length = std::sqrt(dx * dx + dy * dy + dz * dz);
      const double inverse = length > collapsed * l0[l] ? 1 / length : 0;
      double across = k[l] * (length - l0[l]) * inverse;
      across = across > least ? across : least;
      across = across < most ? across : most;
      across = l0[l] == 0 ? k[l] : across;
      const double along = (k[l] - across) * inverse * inverse * (dx * ux + dy * uy + dz * uz);
      sum.x[l] += along * dx + across * ux;
      sum.y[l] += along * dy + across * uy;
      sum.z[l] += along * dz + across * uz;
    }
  }
}

/// stiffness_scale times these changes plus damping_scale times the damping along springs, both at `x`, in one pass.
MENISCUS_INLINE void linear_tangent(const HalfSprings& half, const double* damping, double stiffness_scale, double damping_scale,
                                    const double* x, double least, double most, const Slice& slice, Vectors& sum) {
  const Vectors& own = slice.own;
  const double* const all = slice.all;
  Vectors at;
  load(x, slice.node, at);
  for (Index r = slice.first_row; r < slice.end_row; ++r) {
    const std::int32_t* const partner = half.slices.partners().data() + count * r;
    const double* const l0 = half.rest_length + count * r;
    const double* const k = half.coefficient + count * r;
    const double* const b = damping + count * r;
    for (int l = 0; l < count; ++l) {
      const std::int32_t j = 3 * partner[l];
      const double dx = x[j] - at.x[l];
      const double dy = x[j + 1] - at.y[l];
      const double dz = x[j + 2] - at.z[l];
      const double ux = all[j] - own.x[l];
      const double uy = all[j + 1] - own.y[l];
      const double uz = all[j + 2] - own.z[l];
      const double length = std::sqrt(dx * dx + dy * dy + dz * dz);
      const double inverse = length > collapsed * l0[l] ? 1 / length : 0;
      double across = k[l] * (length - l0[l]) * inverse;
      across = across > least ? across : least;
      across = across < most ? across : most;
      across = l0[l] == 0 ? k[l] : across;
      const double along =
          (stiffness_scale * (k[l] - across) + damping_scale * b[l]) * inverse * inverse * (dx * ux + dy * uy + dz * uz);
      across *= stiffness_scale;
      sum.x[l] += along * dx + across * ux;
      sum.y[l] += along * dy + across * uy;
      sum.z[l] += along * dz + across * uz;
    }
  }
}

MENISCUS_INLINE void general_differentials(const HalfSprings& half, const StressStrain& law, const double* x, double least,
                                           double most, const Slice& slice, Vectors& sum) {
  const Vectors& own = slice.own;
  const double* const all = slice.all;
  Vectors at;
  load(x, slice.node, at);
  for (Index r = slice.first_row; r < slice.end_row; ++r) {
    const std::int32_t* const partner = half.slices.partners().data() + count * r;
    const double* const l0 = half.rest_length + count * r;
    const double* const k = half.coefficient + count * r;
    Vectors d;
    Values length;
    Values across;
    Values slope;
    directions(half, x, at, r, d, length);
    tensions(half, law, r, length, across);
    if (law.linear()) {
      slope.fill(1);
    } else {
      Values strain;
      for (int l = 0; l < count; ++l) strain[l] = (length[l] - l0[l]) / l0[l];
      law.slopes(strain, slope);
    }
    for (int l = 0; l < count; ++l) {
      const std::int32_t j = 3 * partner[l];
      const double ux = all[j] - own.x[l];
      const double uy = all[j + 1] - own.y[l];
      const double uz = all[j + 2] - own.z[l];
      double t = length[l] > collapsed * l0[l] ? across[l] / length[l] : 0;
      t = t > least ? t : least;
      t = t < most ? t : most;
      t = l0[l] == 0 ? k[l] : t;
      const double along = (k[l] * slope[l] - t) * (d.x[l] * ux + d.y[l] * uy + d.z[l] * uz);
      sum.x[l] += along * d.x[l] + t * ux;
      sum.y[l] += along * d.y[l] + t * uy;
      sum.z[l] += along * d.z[l] + t * uz;
    }
  }
}

/// Damping along the springs at `x`, with the slice's vectors as velocities.
MENISCUS_INLINE void axial_damping(const HalfSprings& half, const double* x, const Slice& slice, Vectors& sum) {
  const Vectors& own = slice.own;
  const double* const all = slice.all;
  Vectors at;
  load(x, slice.node, at);
  for (Index r = slice.first_row; r < slice.end_row; ++r) {
    const std::int32_t* const partner = half.slices.partners().data() + count * r;
    const double* const b = half.coefficient + count * r;
    Vectors d;
    Values length;
    directions(half, x, at, r, d, length);
    for (int l = 0; l < count; ++l) {
      const std::int32_t j = 3 * partner[l];
      const double along =
          b[l] * (d.x[l] * (all[j] - own.x[l]) + d.y[l] * (all[j + 1] - own.y[l]) + d.z[l] * (all[j + 2] - own.z[l]));
      sum.x[l] += along * d.x[l];
      sum.y[l] += along * d.y[l];
      sum.z[l] += along * d.z[l];
    }
  }
}

}  // namespace meniscus::solids::lanes
