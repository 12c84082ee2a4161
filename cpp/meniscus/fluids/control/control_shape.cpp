#include "meniscus/fluids/control/control_shape.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::fluids {

template <class T, int D>
void set_control_cells(const grid::Field<double, D>& distance, const grid::MacField<T, D>& motion, double attraction,
                       double reach, ControlCells<D>& cells) {
  const grid::Grid<D>& grid = cells.grid();
  require(distance.grid() == grid && motion.grid() == grid, "the shape must be sampled on the grid of the velocity");
  const double h = grid.spacing();
  require(reach >= h, "the reach of a shape must be at least the spacing, ", h, " m, not ", reach, " m");
  const grid::FieldView<const double, D> phi = distance.view();
  grid::for_each_row<D>(cells.extents(), [&](Coord<D> cell, Index i) {
    for (Index& c : cell) --c;
    for (Index k = 0; k < cells.extents()[D - 1]; ++k, ++i, ++cell[D - 1]) {
      const double d = grid::corner_mean<D>(phi.at(cell), phi.strides);
      const double left = 1.0 - std::clamp(d / reach, 0.0, 1.0);
      const double cover = std::clamp(0.5 - d / h, 0.0, 1.0);
      cells.potential()[i] = attraction * (1.0 - left * left);
      cells.cover()[i] = cover;
      for (int a = 0; a < D; ++a) {
        const grid::FieldView<const T, D> v = motion.component(a).view();
        const T* const lower = v.at(cell);
        const double mean = 0.5 * (static_cast<double>(lower[0]) + static_cast<double>(lower[v.strides[a]]));
        cells.momentum(a)[i] = cover > 0.0 ? cover * mean : 0.0;
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                  \
  template void set_control_cells<T, D>(const grid::Field<double, D>&, const grid::MacField<T, D>&, double, double, \
                                        ControlCells<D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
