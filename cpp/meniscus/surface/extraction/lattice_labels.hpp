/// Labels of components at the samples of a lattice.
#pragma once

#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/surface/extraction/level_set_lattice.hpp"

namespace meniscus::surface {

/// The label of a sample of the lattice: of the first sample of the field that it is made of and that is on the same side.
template <class T, int D>
class LatticeLabels {
 public:
  /// Collective where the grid is cut: labels of other blocks around this one are fetched.
  LatticeLabels(const grid::FieldLayout<D>& layout, const LevelSetLattice<T, D>& lattice, const std::int32_t* labels,
                Workspace& workspace)
      : lattice_(lattice), labels_(labels), strides_(c_strides<D>(layout.extents())) {
    if (!layout.grid.block().cut()) return;
    padded_ = workspace.take<std::int32_t>(layout.storage_size());
    const grid::FieldView<std::int32_t, D> copy = layout.view(padded_.data());
    grid::parallel_rows<D>(copy.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r)
        std::copy_n(labels + r * copy.extents[D - 1], copy.extents[D - 1], copy.at(grid::row_start<D>(copy.extents, r)));
    });
    layout.halo.exchange(padded_.data());
    labels_ = copy.origin;
    strides_ = copy.strides;
  }

  std::int32_t at(const Coord<D>& c, bool inside) const {
    std::array<std::array<Index, 2>, D> from;
    for (int d = 0; d < D; ++d) from[d] = lattice_.sources(d, c[d]).index;
    for (unsigned i = 0; i < 1U << D; ++i) {
      Index k = 0;
      for (unsigned d = 0; d < D; ++d) k += from[d][i >> d & 1] * strides_[d];
      if ((labels_[k] > 0) == inside) return labels_[k];
    }
    return 0;
  }

  /// The label of the liquid in a cube that is in the cell of one of its corners: that of the cell, or of the corner nearest to
  /// it that has one; else of any cell around.
  std::int32_t around(const Coord<D>& sample, const Coord<D>& cube) const {
    if (const std::int32_t own = at(sample, true)) return own;
    for (int apart = 1; apart <= D; ++apart)
      for (unsigned s = 0; s < 1U << D; ++s) {
        Coord<D> corner = cube;
        int steps = 0;
        for (unsigned d = 0; d < D; ++d) {
          corner[d] += s >> d & 1;
          steps += corner[d] != sample[d];
        }
        if (steps != apart) continue;
        if (const std::int32_t other = at(corner, true)) return other;
      }
    for (int q = 0; q < grid::block_cells<D>; ++q) {
      Coord<D> beside = grid::block_offset<D>(q);
      bool there = true;
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        beside[a] += sample[a];
        there &= lattice_.is_sample(d, beside[a]);
      }
      if (!there) continue;
      if (const std::int32_t other = at(beside, true)) return other;
    }
    return 0;
  }

 private:
  const LevelSetLattice<T, D>& lattice_;
  const std::int32_t* labels_;
  Coord<D> strides_;
  Workspace::Lease<std::int32_t> padded_;
};

}  // namespace meniscus::surface
