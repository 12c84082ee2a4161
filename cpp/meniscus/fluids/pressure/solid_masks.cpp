#include "meniscus/fluids/pressure/solid_masks.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::fluids {
namespace {

/// Calls body(lowest node, index of the sample) for every cell (no bit of `on_side` set) or face.
template <int D, class Body>
void for_samples(const grid::FieldView<const double, D>& phi, const grid::Stagger<D>& stagger, Body&& body) {
  Coord<D> extents = phi.extents;
  for (std::size_t d = 0; d < D; ++d) extents[d] += stagger.on_side[d] - 1;
  const Index length = extents[D - 1];
  grid::parallel_rows<D>(extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const double* row = phi.at(grid::row_start<D>(extents, r));
      for (Index k = 0; k < length; ++k) body(row + k, r * length + k);
    }
  });
}

}  // namespace

template <int D>
void mark_solid(const grid::Field<double, D>& levelset, const SolidMasks<D>& masks) {
  require(levelset.stagger() == grid::Stagger<D>::node(), "the level set of a solid must be on nodes");
  const grid::FieldView<const double, D> phi = levelset.view();
  constexpr unsigned all = (1U << D) - 1;
  for_samples<D>(phi, grid::Stagger<D>::cell(),
                 [&](const double* lowest, Index i) { masks.outside_cells[i] = node_mean<D>(lowest, phi.strides, all) > 0; });
  for (unsigned d = 0; d < D; ++d) {
    const unsigned across = all & ~(1U << d);
    for_samples<D>(phi, grid::Stagger<D>::face(static_cast<int>(d)), [&](const double* lowest, Index i) {
      masks.open_faces[d][i] = any_node_outside<D>(lowest, phi.strides, across);
      masks.inside_faces[d][i] = node_mean<D>(lowest, phi.strides, across) <= 0;
    });
  }
}

template void mark_solid<2>(const grid::Field<double, 2>&, const SolidMasks<2>&);
template void mark_solid<3>(const grid::Field<double, 3>&, const SolidMasks<3>&);

}  // namespace meniscus::fluids
