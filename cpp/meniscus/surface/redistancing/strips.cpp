#include "meniscus/surface/redistancing/strips.hpp"

namespace meniscus::surface {

template <int D>
StripGrid<D>::StripGrid(const grid::FieldLayout<D>& layout) {
  grid::require_one_block(layout.grid, "redistancing and extension");
  const Coord<D> extents = layout.extents();
  for (int d = 0; d < D; ++d) {
    periodic[d] = layout.halo.shared(d);
    first[d] = layout.halo.first_owned(d);
    count[d] = extents[d] - first[d];
    if (d < D - 1) rows *= count[d];
  }
  row_strips = (count[D - 1] + strip_lanes - 1) / strip_lanes;
  for (int d = 0; d < D; ++d) {
    const Index n = d < D - 1 ? count[d] : row_strips;
    // A ring of odd length cannot be painted in two colours.
    if (periodic[d] && n % 2 == 1 && n > 1) colours = 3;
  }
}

template struct StripGrid<2>;
template struct StripGrid<3>;

}  // namespace meniscus::surface
