#include "meniscus/fluids/flows/emission.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::fluids {

using grid::FieldView;

template <class T, int D>
void emit(const grid::Field<T, D>& region, EmissionRule rule, double value, grid::Field<T, D>& field) {
  require(field.layout().same_place(region.layout()), "the region must have the samples of the field");
  const FieldView<const T, D> phi = region.view();
  const FieldView<T, D> view = field.view();
  const auto apply = [&](auto&& result) {
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> c = grid::row_start<D>(view.extents, r);
        const T* inside = phi.at(c);
        T* row = view.at(c);
        for (Index k = 0; k < view.extents[D - 1]; ++k)
          if (inside[k] <= 0) row[k] = result(row[k]);
      }
    });
  };
  const T e = static_cast<T>(value);
  switch (rule) {
    case EmissionRule::raise:
      return apply([e](T v) { return v < e ? e : v; });
    case EmissionRule::add:
      return apply([e](T v) { return v + e; });
    case EmissionRule::set:
      return apply([e](T) { return e; });
  }
  require(false, "unknown rule of emission");
}

template <class T, int D>
void emit_velocity(grid::Field<T, D>& region, const Vec<double, D>& value, grid::MacField<T, D>& velocity) {
  require(region.grid() == velocity.grid() && region.stagger() == grid::Stagger<D>::cell(),
          "the region must be on the cells of the grid of the velocity");
  // Ghosts say whether the cell beyond a periodic side belongs to the region; beyond other sides they repeat the cell before it.
  region.fill_ghosts(0.0);
  const FieldView<const T, D> phi = std::as_const(region).view();
  for (int d = 0; d < D; ++d) {
    const FieldView<T, D> view = velocity.component(d).view();
    const Index step = phi.strides[d];
    const T u = static_cast<T>(value[d]);
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> c = grid::row_start<D>(view.extents, r);
        const T* upper = phi.at(c);
        T* row = view.at(c);
        for (Index k = 0; k < view.extents[D - 1]; ++k)
          if (upper[k] <= 0 || upper[k - step] <= 0) row[k] = u;
      }
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                              \
  template void emit<T, D>(const grid::Field<T, D>&, EmissionRule, double, grid::Field<T, D>&); \
  template void emit_velocity<T, D>(grid::Field<T, D>&, const Vec<double, D>&, grid::MacField<T, D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
