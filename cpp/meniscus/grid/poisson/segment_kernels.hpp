/// Common parts of kernels over segments: the couplings of a cell to its neighbours, and the loop over segments.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/poisson/face_matrix.hpp"

namespace meniscus::grid {

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

  /// Sum over the faces of cell i of coefficient times the value beyond it.
  template <SegmentKind kind>
  MENISCUS_INLINE C sum(const C* x, Index i) const {
    C total = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const Index s = strides[d];
      if constexpr (kind == SegmentKind::general)
        total += face[d][i] * x[i - s] + face[d][i + s] * x[i + s];
      else if constexpr (kind == SegmentKind::constant_apart || kind == SegmentKind::simple_apart)
        total += open[d] * x[i - s] + open[d] * x[i + s];
      else
        total += open[d] * (x[i - s] + x[i + s]);
    }
    return total;
  }
};

/// Calls f.template operator()<kind>(first cell, cells, parity) for the segments [begin, end). There are whole blocks of cells,
/// at most segment_cells. (Loops over them need a length that the compiler does not know, or it unrolls them into scalar code.)
template <class F>
MENISCUS_INLINE void for_each_segment(const Segment* begin, const Segment* end, F&& f) {
  for (const Segment* s = begin; s != end; ++s) {
    const int cells = s->blocks * cell_block;
    switch (s->kind) {
      case SegmentKind::constant:
        f.template operator()<SegmentKind::constant>(s->index, cells, s->parity);
        break;
      case SegmentKind::simple:
        f.template operator()<SegmentKind::simple>(s->index, cells, s->parity);
        break;
      case SegmentKind::general:
        f.template operator()<SegmentKind::general>(s->index, cells, s->parity);
        break;
      case SegmentKind::constant_apart:
        f.template operator()<SegmentKind::constant_apart>(s->index, cells, s->parity);
        break;
      case SegmentKind::simple_apart:
        f.template operator()<SegmentKind::simple_apart>(s->index, cells, s->parity);
        break;
      case SegmentKind::empty:
        break;
    }
  }
}

}  // namespace meniscus::grid
