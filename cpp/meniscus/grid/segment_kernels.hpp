/// What every kernel over segments shares: the sum over the couplings of the cells of one block.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/face_matrix.hpp"

namespace meniscus {

/// Plain pointers and numbers of a matrix, for kernels.
template <class C, int D>
struct Couplings {
  std::array<C, D> open{};
  std::array<const C*, D> face{};
  std::array<Index, D> strides{};

  explicit Couplings(const FaceMatrix<C, D>& a) : open(a.open_coupling), strides(a.layout.strides) {
    if (a.has_faces)
      for (std::size_t d = 0; d < D; ++d) face[d] = a.faces[d].data();
  }

  /// sum[l] = sum over the faces of cell i + l of coefficient times the value beyond it.
  template <SegmentKind kind>
  MENISCUS_INLINE void sum(const C* __restrict x, Index i, C* __restrict total) const {
    for (int l = 0; l < cell_block; ++l) total[l] = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const C* __restrict lower = x + i - strides[d];
      const C* __restrict upper = x + i + strides[d];
      if constexpr (kind == SegmentKind::general) {
        const C* __restrict f = face[d] + i;
        const C* __restrict g = face[d] + i + strides[d];
        for (int l = 0; l < cell_block; ++l) total[l] += f[l] * lower[l] + g[l] * upper[l];
      } else {
        const C w = open[d];
        for (int l = 0; l < cell_block; ++l) total[l] += w * (lower[l] + upper[l]);
      }
    }
  }
};

/// Calls f.template operator()<kind>(first cell of the block, parity) for all blocks of the segments [begin, end).
template <class F>
MENISCUS_INLINE void for_each_block(const Segment* begin, const Segment* end, F&& f) {
  for (const Segment* s = begin; s != end; ++s) {
    const Index last = s->index + s->blocks * cell_block;
    switch (s->kind) {
      case SegmentKind::constant:
        for (Index i = s->index; i < last; i += cell_block) f.template operator()<SegmentKind::constant>(i, s->parity);
        break;
      case SegmentKind::simple:
        for (Index i = s->index; i < last; i += cell_block) f.template operator()<SegmentKind::simple>(i, s->parity);
        break;
      case SegmentKind::general:
        for (Index i = s->index; i < last; i += cell_block) f.template operator()<SegmentKind::general>(i, s->parity);
        break;
      case SegmentKind::empty:
        break;
    }
  }
}

}  // namespace meniscus
