#include "meniscus/grid/poisson/cell_layout.hpp"

#include "meniscus/core/parallel.hpp"

namespace meniscus::grid {

template <class T, int D>
void wrap_plane(const CellLayout<D>& layout, T* values, Index plane) {
  T* first = values + layout.origin + plane * layout.strides[0];
  const Index n = layout.cells[D - 1];
  if (layout.periodic[D - 1]) {
    for (Index r = 0; r < layout.rows_per_plane(); ++r) {
      T* row = first + (D == 2 ? 0 : r * layout.strides[1]);
      row[-1] = row[n - 1];
      row[n] = row[0];
    }
  }
  if constexpr (D == 3) {
    if (layout.periodic[1]) {
      const Index s = layout.strides[1];
      std::copy_n(first + (layout.cells[1] - 1) * s, n, first - s);
      std::copy_n(first, n, first + layout.cells[1] * s);
    }
  }
}

template <class T, int D>
void wrap_first_axis(const CellLayout<D>& layout, T* values) {
  if (!layout.periodic[0]) return;
  const Index s = layout.strides[0], n = layout.cells[0];
  const Index length = layout.cells[D - 1];
  for (Index r = 0; r < layout.rows_per_plane(); ++r) {
    T* row = values + layout.origin + (D == 2 ? 0 : r * layout.strides[1]);
    std::copy_n(row + (n - 1) * s, length, row - s);
    std::copy_n(row, length, row + n * s);
  }
}

template <class T, int D>
void wrap_ghosts(const CellLayout<D>& layout, T* values) {
  bool inner = false;
  for (int d = 1; d < D; ++d) inner |= layout.periodic[d];
  if (inner)
    parallel_for(0, layout.cells[0], std::max<Index>(1, 65536 / layout.plane_cells()), [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) wrap_plane<T, D>(layout, values, i);
    });
  wrap_first_axis<T, D>(layout, values);
}

#define MENISCUS_INSTANTIATE(T, D)                                 \
  template void wrap_ghosts<T, D>(const CellLayout<D>&, T*);       \
  template void wrap_plane<T, D>(const CellLayout<D>&, T*, Index); \
  template void wrap_first_axis<T, D>(const CellLayout<D>&, T*);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
MENISCUS_INSTANTIATE(std::uint8_t, 2)
MENISCUS_INSTANTIATE(std::uint8_t, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
