#include "meniscus/coupling/shell_pressure/face_flows.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::coupling {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Calls body(face, lower, upper) for each face across an axis, with places in arrays of cells; -1 beyond sides of the domain.
template <int D, class Body>
void each_face(const grid::Grid<D>& grid, std::size_t axis, Body&& body) {
  const Coord<D>& cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const Index length = cells[D - 1];
  const auto d = static_cast<int>(axis);
  grid::for_each_row<D>(grid::Stagger<D>::face(d).extents(cells), [&](Coord<D> c, Index face) {
    const auto row_at = [&](Index along) {
      Coord<D> at = c;
      at[axis] = along;
      return dot<D>(at, strides);
    };
    if (axis == D - 1) {
      const Index row = row_at(0), before = grid::image_of_cell<D>(grid, d, -1), after = grid::image_of_cell<D>(grid, d, length);
      body(face, before < 0 ? -1 : row + before, row);
      for (Index j = 1; j < length; ++j) body(face + j, row + j - 1, row + j);
      body(face + length, row + length - 1, after < 0 ? -1 : row + after);
      return;
    }
    const Index below = grid::image_of_cell<D>(grid, d, c[axis] - 1), above = grid::image_of_cell<D>(grid, d, c[axis]);
    const Index lower = below < 0 ? -1 : row_at(below), upper = above < 0 ? -1 : row_at(above);
    if (lower >= 0 && upper >= 0)
      for (Index j = 0; j < length; ++j) body(face + j, lower + j, upper + j);
    else
      for (Index j = 0; j < length; ++j) body(face + j, lower < 0 ? -1 : lower + j, upper < 0 ? -1 : upper + j);
  });
}

}  // namespace

template <int D>
void find_liquid_face_masses(const grid::Grid<D>& grid, const double* phi, double half, double shallowest,
                             const std::array<bool, 2 * D>& open, const FaceValues<D>& masses) {
  for (std::size_t d = 0; d < D; ++d) {
    double* const out = masses[d];
    each_face<D>(grid, d, [&](Index face, Index lower, Index upper) {
      if (lower < 0 || upper < 0) {
        const bool wet = phi[lower < 0 ? upper : lower] <= 0;
        out[face] = wet && open[2 * d + (upper < 0)] ? half : infinite;
        return;
      }
      const double a = phi[lower], b = phi[upper];
      if (a <= 0 && b <= 0)
        out[face] = 2 * half;
      else if (a > 0 && b > 0)
        out[face] = infinite;
      else {
        const double liquid = std::min(a, b), air = std::max(a, b);
        out[face] = 2 * half * std::clamp(liquid / (liquid - air), shallowest, 1.0);
      }
    });
  }
}

template <int D>
void find_face_conductances(const grid::Grid<D>& grid, const ConstFaceValues<D>& areas, const ConstFaceValues<D>& masses,
                            const FaceValues<D>& out) {
  for (std::size_t d = 0; d < D; ++d) {
    const Coord<D> extents = grid::Stagger<D>::face(static_cast<int>(d)).extents(grid.local_shape());
    grid::for_each_row<D>(extents, [&](const Coord<D>&, Index start) {
      for (Index k = start; k < start + extents[D - 1]; ++k) {
        const double a = areas[d][k], m = masses[d][k];
        out[d][k] = m > 0 ? a * a / m : 0.0;
      }
    });
  }
}

template <int D>
void find_face_divergence(const grid::Grid<D>& grid, const ConstFaceValues<D>& areas, const ConstFaceValues<D>& velocities,
                          const std::uint8_t* active, double* out) {
  grid::for_each_row<D>(grid.local_shape(), [&](const Coord<D>& c, Index start) {
    const Index length = grid.local_shape()[D - 1];
    std::fill_n(out + start, length, 0.0);
    for (std::size_t d = 0; d < D; ++d) {
      const Coord<D> strides = c_strides<D>(grid::Stagger<D>::face(static_cast<int>(d)).extents(grid.local_shape()));
      const double *const a = areas[d] + dot<D>(c, strides), *const v = velocities[d] + dot<D>(c, strides);
      for (Index k = 0, next = strides[d]; k < length; ++k, ++next) out[start + k] += a[next] * v[next] - a[k] * v[k];
    }
    for (Index k = 0; k < length; ++k)
      if (!active[start + k]) out[start + k] = 0.0;
  });
}

template <int D>
void accelerate_faces(const grid::Grid<D>& grid, const ConstFaceValues<D>& areas, const ConstFaceValues<D>& masses,
                      const double* p, const FaceValues<D>& velocities) {
  for (std::size_t d = 0; d < D; ++d)
    each_face<D>(grid, d, [&](Index face, Index lower, Index upper) {
      const double m = masses[d][face];
      if (m > 0) velocities[d][face] -= areas[d][face] / m * ((upper < 0 ? 0.0 : p[upper]) - (lower < 0 ? 0.0 : p[lower]));
    });
}

#define MENISCUS_INSTANTIATE(D)                                                                                                 \
  template void find_liquid_face_masses<D>(const grid::Grid<D>&, const double*, double, double, const std::array<bool, 2 * D>&, \
                                           const FaceValues<D>&);                                                               \
  template void find_face_conductances<D>(const grid::Grid<D>&, const ConstFaceValues<D>&, const ConstFaceValues<D>&,           \
                                          const FaceValues<D>&);                                                                \
  template void find_face_divergence<D>(const grid::Grid<D>&, const ConstFaceValues<D>&, const ConstFaceValues<D>&,             \
                                        const std::uint8_t*, double*);                                                          \
  template void accelerate_faces<D>(const grid::Grid<D>&, const ConstFaceValues<D>&, const ConstFaceValues<D>&, const double*,  \
                                    const FaceValues<D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
