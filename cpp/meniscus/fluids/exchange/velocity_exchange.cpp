#include "meniscus/fluids/exchange/velocity_exchange.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::fluids {

template <class T, int D>
void face_volumes(grid::Field<T, D>& levelset, const grid::Field<double, D>* solid, int axis, double* volumes) {
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const FaceLiquid<T, D> liquid(levelset, solid);
  const Coord<D> extents = grid::Stagger<D>::face(axis).extents(levelset.extents());
  grid::parallel_rows<D>(extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> face = grid::row_start<D>(extents, r);
      for (Index& k = face[D - 1]; k < extents[D - 1]; ++k) volumes[r * extents[D - 1] + k] = liquid.around(axis, face);
    }
  });
}

template <class T, int D>
VectorSum liquid_momentum(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset,
                          const grid::Field<double, D>* solid) {
  require(velocity.grid() == levelset.grid(), "the level set must have the grid of the velocity");
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const grid::Grid<D>& grid = velocity.grid();
  const FaceLiquid<T, D> liquid(levelset, solid);
  const double cell = std::pow(grid.spacing(), D);
  VectorSum total{};
  for (int d = 0; d < D; ++d) {
    const grid::FieldView<const T, D> u = velocity.component(d).view();
    total[d] = cell * sum_owned_faces<D>(grid, d, [&](const Coord<D>& face, Index) {
                 return liquid.around(d, face) * static_cast<double>(*u.at(face));
               });
  }
  return total;
}

template <class T, int D>
VectorSum blend_velocity(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                         const std::array<const T*, D>& values, const std::array<const T*, D>& weights) {
  require(velocity.grid() == levelset.grid(), "the level set must have the grid of the velocity");
  const grid::Grid<D>& grid = velocity.grid();
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const double wrong = sum_owned_faces<D>(grid, d, [&](const Coord<D>&, Index i) {
      const T w = weights[axis][i];
      return w == T(0) || (w > T(0) && w <= T(1) && std::isfinite(values[axis][i])) ? 0.0 : 1.0;
    });
    require(wrong == 0.0, "weights must be from 0 to 1 and values finite where they count; of component ", d, " ", wrong,
            " are not");
  }
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const FaceLiquid<T, D> liquid(levelset, solid);
  const double cell = std::pow(grid.spacing(), D);
  VectorSum gained{};
  const NoInterrupts whole;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    grid::Field<T, D>& component = velocity.component(d);
    const grid::FieldView<T, D> u = component.view();
    gained[axis] = cell * sum_owned_faces<D>(grid, d, [&](const Coord<D>& face, Index i) {
                     const T w = weights[axis][i];
                     if (w == T(0)) return 0.0;
                     T& to = *u.at(face);
                     const T before = to;
                     to = w == T(1) ? values[axis][i] : before + w * (values[axis][i] - before);
                     return liquid.around(d, face) * (static_cast<double>(to) - static_cast<double>(before));
                   });
    component.layout().halo.exchange(d, component.storage().data());
  }
  return gained;
}

template <class T, int D>
void give_to_region(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                    grid::Field<T, D>& region, const std::array<const double*, D>& before, double volume,
                    const Vec<double, D>& given) {
  const grid::Grid<D>& grid = velocity.grid();
  require(grid == levelset.grid() && grid == region.grid(), "the level set and the region must have the grid of the velocity");
  grid::fill_ghosts_on_lines(levelset, 0.0);
  if (grid.block().cut()) region.layout().halo.exchange(region.storage().data());
  const FaceLiquid<T, D> liquid(levelset, solid);
  const grid::FieldView<const T, D> inside = std::as_const(region).view();
  const double whole = volume / std::pow(grid.spacing(), D);
  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const auto new_liquid = [&](const Coord<D>& face, Index i) {
      return std::max(liquid.around(d, face) - before[axis][i], 0.0);
    };
    const auto liquid_in_region = [&](const Coord<D>& face, Index) {
      for (const Index upper : {0, 1}) {
        const auto beside = grid.block().image(d, face[axis] - 1 + upper);
        if (!beside) continue;
        Coord<D> cell = face;
        cell[axis] = *beside;
        if (*inside.at(cell) <= 0) return liquid.around(d, face);
      }
      return 0.0;
    };
    const auto give = [&](auto&& weight) {
      const double sum = sum_owned_faces<D>(grid, d, weight);
      if (sum == 0.0) return false;
      grid::Field<T, D>& component = velocity.component(d);
      const grid::FieldView<T, D> u = component.view();
      sum_owned_faces<D>(grid, d, [&](const Coord<D>& face, Index i) {
        const double share = whole * (weight(face, i) / sum), old = before[axis][i];
        T& to = *u.at(face);
        if (share > 0.0) to = static_cast<T>((old * static_cast<double>(to) + share * given[d]) / (old + share));
        return 0.0;
      });
      component.layout().halo.exchange(d, component.storage().data());
      return true;
    };
    if (!give(new_liquid)) give(liquid_in_region);
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                          \
  template void face_volumes<T, D>(grid::Field<T, D>&, const grid::Field<double, D>*, int, double*);                        \
  template VectorSum liquid_momentum<T, D>(const grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*); \
  template VectorSum blend_velocity<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*,         \
                                          const std::array<const T*, D>&, const std::array<const T*, D>&);                  \
  template void give_to_region<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*,              \
                                     grid::Field<T, D>&, const std::array<const double*, D>&, double, const Vec<double, D>&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
