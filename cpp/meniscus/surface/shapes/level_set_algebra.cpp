#include "meniscus/surface/shapes/level_set_algebra.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::surface {

template <class T, int D>
void combine_level_sets(grid::Field<T, D>& phi, SetOperation operation, const grid::Field<T, D>& other) {
  require(phi.layout().same_place(other.layout()), "both level sets must have the same samples");
  const grid::FieldView<T, D> view = phi.view();
  const grid::FieldView<const T, D> from = other.view();
  const auto apply = [&](auto&& result) {
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> c = grid::row_start<D>(view.extents, r);
        T* row = view.at(c);
        const T* b = from.at(c);
        for (Index k = 0; k < view.extents[D - 1]; ++k) row[k] = result(row[k], b[k]);
      }
    });
  };
  // Comparisons with NaN are false: written so, that of either one stays.
  const auto larger = [](T a, T b) { return a >= b || a != a ? a : b; };
  switch (operation) {
    case SetOperation::unite:
      return apply([](T a, T b) { return a <= b || a != a ? a : b; });
    case SetOperation::intersect:
      return apply(larger);
    case SetOperation::subtract:
      return apply([larger](T a, T b) { return larger(a, -b); });
  }
  require(false, "unknown operation on level sets");
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void combine_level_sets<T, D>(grid::Field<T, D>&, SetOperation, const grid::Field<T, D>&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
