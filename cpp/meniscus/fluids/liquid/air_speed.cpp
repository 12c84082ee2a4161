#include "meniscus/fluids/liquid/air_speed.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

using grid::FieldView;
using grid::row_start;

namespace {

/// Air that is made divergence-free lies within three cells of the liquid, so within two of a cell with a face of the liquid.
constexpr Index reach = 2;
static_assert(reach <= grid::ghost_width);

template <class T, int D>
struct GivenFaces {
  GivenFaces(const grid::MacField<T, D>& velocity, const std::array<const std::uint8_t*, D>& masks) : given(masks) {
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      u[axis] = velocity.component(d).view();
      strides[axis] = c_strides<D>(u[axis].extents);
    }
  }
  /// The largest magnitude on given faces of a cell.
  T fastest(const Coord<D>& c) const {
    T most{0};
    for (std::size_t d = 0; d < D; ++d) {
      const std::uint8_t* mask = given[d] + dot<D>(c, strides[d]);
      const T* face = u[d].at(c);
      if (mask[0]) most = std::max(most, std::abs(face[0]));
      if (mask[strides[d][d]]) most = std::max(most, std::abs(face[u[d].strides[d]]));
    }
    return most;
  }
  std::array<const std::uint8_t*, D> given;
  std::array<FieldView<const T, D>, D> u;
  std::array<Coord<D>, D> strides;
};

/// The largest value of the (2 reach + 1)^D samples around one.
template <class T, int D, int axis = 0>
T window_max(const T* at, const Coord<D>& strides) {
  T most{0};
  for (Index k = -reach; k <= reach; ++k) {
    const T* p = at + k * strides[axis];
    if constexpr (axis + 1 < D)
      most = std::max(most, window_max<T, D, axis + 1>(p, strides));
    else
      most = std::max(most, *p);
  }
  return most;
}

}  // namespace

template <class T, int D>
void limit_air_speed(grid::MacField<T, D>& velocity, const std::uint8_t* air, const std::array<const std::uint8_t*, D>& given,
                     grid::Field<T, D>& scratch) {
  require(scratch.grid() == velocity.grid() && scratch.stagger() == grid::Stagger<D>::cell(),
          "the scratch field must be on the cells of the velocity's grid");
  const GivenFaces<T, D> faces(std::as_const(velocity), given);
  const FieldView<T, D> fastest = scratch.view();
  const Coord<D> cells = fastest.extents, cell_strides = c_strides<D>(cells);
  grid::parallel_rows<D>(cells, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = row_start<D>(cells, r);
      for (T* to = fastest.at(c); c[D - 1] < cells[D - 1]; ++c[D - 1]) *to++ = faces.fastest(c);
    }
  });
  scratch.fill_ghosts(0.0);

  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    const FieldView<T, D> u = velocity.component(d).view();
    grid::parallel_rows<D>(u.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = row_start<D>(u.extents, r);
        const std::uint8_t* is_given = given[axis] + r * u.extents[D - 1];
        T* face = u.at(c);
        for (; c[D - 1] < u.extents[D - 1]; ++c[D - 1], ++face, ++is_given) {
          if (*is_given) continue;
          T bound{0};
          const Index upper = dot<D>(c, cell_strides);
          if (c[axis] < cells[axis] && air[upper]) bound = window_max<T, D>(fastest.at(c), fastest.strides);
          if (c[axis] > 0 && air[upper - cell_strides[axis]])
            bound = std::max(bound, window_max<T, D>(fastest.at(c) - fastest.strides[axis], fastest.strides));
          if (bound > 0) *face = std::clamp(*face, -bound, bound);
        }
      }
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                           \
  template void limit_air_speed<T, D>(grid::MacField<T, D>&, const std::uint8_t*, const std::array<const std::uint8_t*, D>&, \
                                      grid::Field<T, D>&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
