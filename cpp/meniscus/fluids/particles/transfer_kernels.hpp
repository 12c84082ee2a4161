/// Kernels of the transfers between particles and samples around them (included by kernels only).
#pragma once

#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/transport/lane_kernels.hpp"

#include <cstring>

namespace meniscus::fluids {

/// The samples around a particle on one component: the lowest one, and the weights of the upper ones along each axis.
template <class T, int D>
struct Corner {
  Coord<D> lower;
  std::array<T, D> upper;
};

/// Samples around particles that were located together, along each axis: on the sides of cells, and at their centres.
template <class T, int D>
struct Corners {
  template <class V>
  using Lanes = std::array<std::array<V, grid::located_points>, D>;
  grid::LocatedPoints<D> place;  ///< its cells are the lower samples on sides
  Lanes<std::int32_t> lower;     ///< at centres
  Lanes<T> upper_side, upper;    ///< weights on sides, and at centres

  /// `inside`: as `MultilinearStencil::inside`, else with ghosts.
  template <bool inside>
  MENISCUS_INLINE void find(const grid::Grid<D>& grid, const T* x, Index n) {
    grid::locate_in_domain(grid, x, n, place);
    for (std::size_t d = 0; d < D; ++d) {
      const double* const offset = place.offset[d].data();
      const std::int32_t* const cell = place.cell[d].data();
      std::int32_t* const low = lower[d].data();
      T* const weight = upper[d].data();
      for (Index l = 0; l < n; ++l) {
        const bool below = offset[l] < 0.5;
        low[l] = below ? cell[l] - 1 : cell[l];
        weight[l] = static_cast<T>(below ? offset[l] + 0.5 : offset[l] - 0.5);
      }
      for (Index l = 0; l < n; ++l) upper_side[d][l] = static_cast<T>(offset[l]);
      if (!inside || grid::period_of(grid, static_cast<int>(d)) > 0) continue;
      const auto last = static_cast<std::int32_t>(grid.shape()[d] - 1);
      const std::int32_t most = last > 0 ? last - 1 : 0;
      const T of_last = last > 0 ? T(1) : T(0);
      for (Index l = 0; l < n; ++l) {
        const std::int32_t at = low[l];
        weight[l] = at < 0 ? T(0) : at > most || last == 0 ? of_last : weight[l];
        low[l] = at < 0 ? 0 : at > most && last > 0 ? most : at;
      }
    }
  }

  /// Of the faces across an axis; of the centres of cells for axis D.
  MENISCUS_INLINE Corner<T, D> at(int axis, Index l) const {
    Corner<T, D> c;
    for (std::size_t a = 0; a < D; ++a) {
      const bool side = static_cast<int>(a) == axis;
      c.lower[a] = side ? place.cell[a][l] : lower[a][l];
      c.upper[a] = side ? upper_side[a][l] : upper[a][l];
    }
    return c;
  }
};

/// Weight and momentum at two samples that follow each other, as one vector.
template <class T>
struct PairOf {
  using type [[gnu::vector_size(4 * sizeof(T))]] = T;
};
template <class T>
using Pair = typename PairOf<T>::type;

template <class T>
MENISCUS_INLINE void add_to(T* at, const Pair<T>& more) {
  Pair<T> sum;
  std::memcpy(&sum, at, sizeof sum);
  sum += more;
  std::memcpy(at, &sum, sizeof sum);
}

/// Weight and momentum of one particle at one component, whose samples have the strides `s`. `c`: its affine velocity.
template <bool affine, class T, int D>
MENISCUS_INLINE void scatter_component(T v, const T* c, int d, const grid::CellLocation<D>& place, T mass, T spacing,
                                       const Corner<T, D>& corner, const Coord<D>& s, T* pairs) {
  T* p = pairs + 2 * dot<D>(corner.lower, s);
  const T upper = mass * corner.upper[D - 1];
  const T lower = mass - upper;
  std::array<T, D> along{};
  T base = v;
  if constexpr (affine) {
    // The affine velocity at the lower corner, and how it changes from there along the axes.
    for (std::size_t a = 0; a < D; ++a) {
      const double half = static_cast<int>(a) == d ? 0.0 : 0.5;
      const double at = static_cast<double>(corner.lower[a] - place.cell[a]) + half - place.offset[a];
      along[a] = c[a] * spacing;
      base += along[a] * static_cast<T>(at);
    }
  }
  const Pair<T> row = {lower, lower * base, upper, upper * (base + along[D - 1])};
  const Pair<T> momentum = {T(0), lower, T(0), upper};
  const auto add = [&](Index offset, T weight, T change) {
    if constexpr (affine)
      add_to<T>(p + offset, weight * (row + change * momentum));
    else
      add_to<T>(p + offset, weight * row);
  };
  const T low = T(1) - corner.upper[0];
  if constexpr (D == 2) {
    add(0, low, T(0));
    add(2 * s[0], corner.upper[0], along[0]);
  } else {
    const T low1 = T(1) - corner.upper[1];
    add(0, low * low1, T(0));
    add(2 * s[1], low * corner.upper[1], along[1]);
    add(2 * s[0], corner.upper[0] * low1, along[0]);
    add(2 * (s[0] + s[1]), corner.upper[0] * corner.upper[1], along[0] + along[1]);
  }
}

/// One component at n places, from samples whose ghosts are filled, and its gradients, which are `gradient_stride` apart.
template <bool affine, class T, int D>
MENISCUS_INLINE void gather_component(const T* origin, const Coord<D>& s, int d, const Corners<T, D>& corners, Index n, T inverse,
                                      T* values, T* gradients, Index gradient_stride) {
  std::array<Index, grid::located_points> at;
  at.fill(0);
  for (int a = 0; a < D; ++a) {
    const std::int32_t* const lower = a == d ? corners.place.cell[Index{a}].data() : corners.lower[Index{a}].data();
    const Index stride = s[Index{a}];
    for (Index l = 0; l < n; ++l) at[l] += lower[l] * stride;
  }
  std::array<const T*, D> f;
  for (int a = 0; a < D; ++a) f[Index{a}] = a == d ? corners.upper_side[Index{a}].data() : corners.upper[Index{a}].data();
  const T* const f0 = f[0];
  const T* const f1 = f[1];
  if constexpr (D == 2) {
    for (Index l = 0; l < n; ++l) {
      const T* const p = origin + at[l];
      const T d0 = p[1] - p[0];
      const T d1 = p[s[0] + 1] - p[s[0]];
      const T v0 = p[0] + f1[l] * d0;
      const T v1 = p[s[0]] + f1[l] * d1;
      if constexpr (affine) {
        T* const gradient = gradients + l * gradient_stride;
        gradient[0] = inverse * (v1 - v0);
        gradient[1] = inverse * (d0 + f0[l] * (d1 - d0));
      }
      values[l] = v0 + f0[l] * (v1 - v0);
    }
  } else {
    const T* const f2 = f[2];
    const Index s0 = s[0], s1 = s[1];
    for (Index l = 0; l < n; ++l) {
      const T* const p = origin + at[l];
      T p000, p001, p010, p011, p100, p101, p110, p111;
      grid::detail::load_pair(p, p000, p001);
      grid::detail::load_pair(p + s1, p010, p011);
      grid::detail::load_pair(p + s0, p100, p101);
      grid::detail::load_pair(p + s0 + s1, p110, p111);
      const T d00 = p001 - p000, d01 = p011 - p010, d10 = p101 - p100, d11 = p111 - p110;
      const T v00 = p000 + f2[l] * d00, v01 = p010 + f2[l] * d01, v10 = p100 + f2[l] * d10, v11 = p110 + f2[l] * d11;
      const T v0 = v00 + f1[l] * (v01 - v00), v1 = v10 + f1[l] * (v11 - v10);
      if constexpr (affine) {
        const T along0 = d00 + f1[l] * (d01 - d00), along1 = d10 + f1[l] * (d11 - d10);
        T* const gradient = gradients + l * gradient_stride;
        gradient[0] = inverse * (v1 - v0);
        gradient[1] = inverse * ((v01 - v00) + f0[l] * ((v11 - v10) - (v01 - v00)));
        gradient[2] = inverse * (along0 + f0[l] * (along1 - along0));
      }
      values[l] = v0 + f0[l] * (v1 - v0);
    }
  }
}

}  // namespace meniscus::fluids
