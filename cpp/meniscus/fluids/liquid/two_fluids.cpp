#include "meniscus/fluids/liquid/two_fluids.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>

namespace meniscus::fluids {

template <class T, int D>
void unite_velocities(grid::MacField<T, D>& velocity, const grid::MacField<T, D>& air, grid::Field<T, D>& levelset,
                      double air_density) {
  require(air.grid() == velocity.grid() && levelset.grid() == velocity.grid(),
          "the velocities and the level set must have one grid");
  levelset.fill_ghosts(0.0);
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const double spacing = levelset.grid().spacing();
  for (int d = 0; d < D; ++d) {
    const grid::FieldView<T, D> liquid_view = velocity.component(d).view();
    const grid::FieldView<const T, D> air_view = air.component(d).view();
    const Index step = phi.strides[d];
    const Index length = liquid_view.extents[D - 1];
    grid::parallel_rows<D>(liquid_view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> c = grid::row_start<D>(liquid_view.extents, r);
        const T *upper = phi.at(c), *from = air_view.at(c);
        T* to = liquid_view.at(c);
        for (Index k = 0; k < length; ++k) {
          const T a = upper[k - step], b = upper[k];
          const bool wet_below = is_liquid_value(a, spacing), wet_above = is_liquid_value(b, spacing);
          if (wet_below && wet_above) continue;
          if (!wet_below && !wet_above) {
            to[k] = from[k];
            continue;
          }
          const double wet =
              distance_to_surface<T>(static_cast<double>(wet_below ? a : b), static_cast<double>(wet_below ? b : a));
          const double dry = (1.0 - wet) * air_density;
          to[k] = static_cast<T>((wet * static_cast<double>(to[k]) + dry * static_cast<double>(from[k])) / (wet + dry));
        }
      }
    });
  }
}

template <class T, int D>
void mostly_liquid_faces(grid::Field<T, D>& levelset, int axis, std::uint8_t* mask) {
  levelset.fill_ghosts(0.0);
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const double spacing = levelset.grid().spacing();
  const Coord<D> faces = grid::Stagger<D>::face(axis).extents(phi.extents);
  const Index step = phi.strides[axis];
  grid::parallel_rows<D>(faces, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* upper = phi.at(grid::row_start<D>(faces, r));
      std::uint8_t* to = mask + r * faces[D - 1];
      for (Index k = 0; k < faces[D - 1]; ++k) {
        const auto [least, most] = std::minmax(upper[k - step], upper[k]);
        to[k] = is_liquid_value(least, spacing) &&
                (is_liquid_value(most, spacing) ||
                 distance_to_surface<T>(static_cast<double>(least), static_cast<double>(most)) >= 0.5);
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                      \
  template void unite_velocities<T, D>(grid::MacField<T, D>&, const grid::MacField<T, D>&, grid::Field<T, D>&, double); \
  template void mostly_liquid_faces<T, D>(grid::Field<T, D>&, int, std::uint8_t*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
