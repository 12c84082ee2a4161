/// The force of one vortex particle on rows of faces: kernels, faces in reach, eight faces at a time. Part of
/// `vortex_forcing.cpp`.
///
/// Source: Selle 2008, section 3.4.2.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/vorticity/cell_gradient.hpp"
#include "meniscus/fluids/vorticity/vortex_forcing.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_location.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace meniscus::fluids::detail {

/// Faces of a row that are treated together; loops over them have this fixed length on every instruction set.
constexpr int face_block = 8;
template <class T>
using FaceBlock = std::array<T, face_block>;

// GCC would unroll loops as short as this before it looks for vector registers, and then miss them.
#if defined(__GNUC__) && !defined(__clang__)
#define MENISCUS_FACE_LOOP _Pragma("GCC unroll 1")
#else
#define MENISCUS_FACE_LOOP
#endif

/// Cells around a particle in which N has no direction.
constexpr double core_cells = 1e-4;

/// One particle, in cells.
template <class T, int D>
struct Source {
  /// From the lower corner of the domain; on periodic axes inside of it.
  std::array<double, D> x;
  double radius;
  /// dt epsilon w times the constant of the kernel.
  std::array<T, vorticity_components<D>> strength;
};

/// The Taylor polynomial of exp(z) from the term of degree n on, over that of degree n - 1. (As a loop it would keep the loop
/// around it out of vector registers.)
template <int n, int degree, class T>
MENISCUS_INLINE T exponential_tail(T z) {
  if constexpr (n > degree)
    return T(1);
  else
    return T(1) + z * T(1.0 / n) * exponential_tail<n + 1, degree>(z);
}

/// exp(-y), 0 <= y <= 1/2, by its Taylor polynomial about 1/4, whose remainder is below the rounding unit of T. Unlike the
/// library's function it has the same bits on every machine.
template <class T>
MENISCUS_INLINE T decay(T y) {
  constexpr int degree = std::is_same_v<T, float> ? 6 : 12;
  return T(0.77880078307140486825) * exponential_tail<1, degree>(T(0.25) - y);
}

/// The faces of a component that may change, in the whole domain, and their positions.
template <int D>
struct ComponentFaces {
  std::array<grid::ImagedRange, D> along;
  std::array<double, D> shift;
  /// Those of the block: [begin, end) of the above; `first` is the place of the block.
  Coord<D> begin, end, first;
  bool cut;

  template <class T>
  ComponentFaces(const grid::MacField<T, D>& velocity, int axis) {
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      along[a] = grid::unknowns(velocity.grid(), grid::Stagger<D>::face(axis), d);
      shift[a] = d == axis ? 0.0 : 0.5;
    }
    const auto given = [&](int upper) { return grid::fixes_normal_velocity(velocity.boundary()[grid::side_index(axis, upper)]); };
    along[axis].trim(given(0), given(1));
    const grid::Grid<D>& grid = velocity.grid();
    first = grid.first_cell();
    cut = grid.block().cut();
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      const grid::FieldLayout<D>& layout = velocity.component(axis).layout();
      begin[a] = std::max(along[a].begin, first[a] + layout.halo.first_owned(d));
      end[a] = std::min(along[a].end, first[a] + layout.extents()[a]);
    }
  }

  /// Whether the block has the row at the given indices of all axes but the last.
  bool has_row(const Coord<D>& index) const {
    bool own = true;
    for (std::size_t d = 0; d + 1 < D; ++d) own &= index[d] >= begin[d] && index[d] < end[d];
    return own;
  }

  /// First and last index within `reach` cells of coordinate x.
  std::array<Index, 2> range(std::size_t d, double x, double reach) const {
    return along[d].within(static_cast<Index>(std::ceil(x - shift[d] - reach)),
                           static_cast<Index>(std::floor(x - shift[d] + reach)));
  }
};

/// The force of one particle on one component, along rows of faces: (offset + slope * delta) * kernel / distance, delta being the
/// distance along the row.
template <class T, int D, VortexKernel kernel_type>
class RowForce {
 public:
  RowForce(const Source<T, D>& source, int axis) : source_(source), axis_(axis) {
    const T r = static_cast<T>(source.radius);
    radius_squared_ = r * r;
    inverse_radius_ = T(1) / r;
    inverse_two_squares_ = T(0.5) / radius_squared_;
  }

  /// Goes to the row at the distances `delta` (those of all axes but the last).
  void set_row(const std::array<double, D>& delta) {
    double squared = 0.0;
    for (std::size_t d = 0; d + 1 < D; ++d) squared += delta[d] * delta[d];
    across_ = static_cast<T>(squared);
    const auto& w = source_.strength;
    const auto dx = static_cast<T>(delta[0]);
    // N x w; in two dimensions w stands upright.
    if constexpr (D == 2) {
      offset_ = axis_ == 0 ? T(0) : -dx * w[0];
      slope_ = axis_ == 0 ? w[0] : T(0);
    } else {
      const auto dy = static_cast<T>(delta[1]);
      offset_ = axis_ == 0 ? dy * w[2] : axis_ == 1 ? -dx * w[2] : dx * w[1] - dy * w[0];
      slope_ = axis_ == 0 ? -w[1] : axis_ == 1 ? w[0] : T(0);
    }
  }

  /// At faces whose distances along the row are start, start - 1, ...
  MENISCUS_INLINE void evaluate(double start, FaceBlock<T>& force, FaceBlock<T>& kernel) const {
    // Plain pointers: std::array's operator[] hides from the compiler that the loops can run in vector registers.
    T* const f = force.data();
    T* const k = kernel.data();
    const auto first = static_cast<T>(start);
    const T across = across_, offset = offset_, slope = slope_;
    const T radius_squared = radius_squared_, inverse_radius = inverse_radius_, inverse_two_squares = inverse_two_squares_;
    MENISCUS_FACE_LOOP
    for (int l = 0; l < face_block; ++l) {
      const T delta = first - static_cast<T>(l);
      const T squared = across + delta * delta;
      // Selections instead of branches; outside, any argument in range will do.
      const T inside = squared <= radius_squared ? T(1) : T(0);
      const T distance = std::sqrt(inside * squared);
      T xi;
      if constexpr (kernel_type == VortexKernel::gaussian)
        xi = inside * decay(inside * squared * inverse_two_squares);
      else
        xi = inside * (T(1) - distance * inverse_radius);
      const T has_direction = distance >= T(core_cells) ? T(1) : T(0);
      const T divisor = distance >= T(core_cells) ? distance : T(1);
      k[l] = xi;
      f[l] = (offset + slope * delta) * (has_direction * xi / divisor);
    }
  }

 private:
  const Source<T, D>& source_;
  int axis_;
  T radius_squared_, inverse_radius_, inverse_two_squares_;
  T across_ = 0, offset_ = 0, slope_ = 0;
};

/// Calls body(outer indices, first and last index of the row) for every row of faces in reach of the particle; `first` and `last`
/// bound the index along axis 0.
template <VortexKernel kernel_type, class T, int D, class Body>
MENISCUS_INLINE void for_each_row(const Source<T, D>& source, const ComponentFaces<D>& faces, Index first, Index last,
                                  RowForce<T, D, kernel_type>& row, Body&& body) {
  const double reach = source.radius * source.radius;
  std::array<double, D> delta{};
  Coord<D> index{};
  const auto finish = [&](double left) {
    // A little more than the chord: what is inside is decided face by face.
    const auto [k0, k1] = faces.range(D - 1, source.x[D - 1], std::sqrt(left) + 1e-3);
    if (k0 > k1) return;
    row.set_row(delta);
    body(index, k0, k1);
  };
  for (index[0] = first; index[0] <= last; ++index[0]) {
    delta[0] = source.x[0] - (static_cast<double>(index[0]) + faces.shift[0]);
    const double left = reach - delta[0] * delta[0];
    if (left < 0.0) continue;
    if constexpr (D == 2) {
      finish(left);
    } else {
      const auto [j0, j1] = faces.range(1, source.x[1], std::sqrt(left));
      for (index[1] = j0; index[1] <= j1; ++index[1]) {
        delta[1] = source.x[1] - (static_cast<double>(index[1]) + faces.shift[1]);
        const double rest = left - delta[1] * delta[1];
        if (rest >= 0.0) finish(rest);
      }
    }
  }
}

}  // namespace meniscus::fluids::detail
