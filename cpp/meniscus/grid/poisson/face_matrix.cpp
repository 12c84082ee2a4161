#include "meniscus/grid/poisson/face_matrix.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace meniscus::grid {
namespace {

constexpr Index max_blocks = segment_cells / cell_block;

template <class C>
void zero(Block<C>& block) {
  parallel_for(0, block.size(), 1 << 16,
               [&](Index b, Index e) { std::memset(block.data() + b, 0, static_cast<std::size_t>(e - b) * sizeof(C)); });
}

template <class C, int D>
SegmentKind block_kind(const FaceMatrix<C, D>& a, Index first, Index lanes) {
  const C* diagonal = a.diagonal.data() + first;
  const std::uint8_t* active = a.active.data() + first;
  bool any = false, all = lanes == cell_block, open = true;
  const C open_diagonal = a.open_diagonal();
  for (Index l = 0; l < lanes; ++l) {
    any |= active[l] != 0;
    all &= active[l] != 0;
    open &= diagonal[l] == open_diagonal;
  }
  if (!any) return SegmentKind::empty;
  if (a.has_faces) {
    bool differs = false;
    for (int d = 0; d < D; ++d) {
      const C* face = a.faces[static_cast<std::size_t>(d)].data() + first;
      const Index s = a.layout.strides[static_cast<std::size_t>(d)];
      const C coupling = a.open_coupling[static_cast<std::size_t>(d)];
      for (Index l = 0; l < lanes; ++l) {
        const bool here = active[l] != 0;
        differs |= here && active[l - s] != 0 && face[l] != coupling;
        differs |= here && active[l + s] != 0 && face[l + s] != coupling;
      }
    }
    if (differs) return SegmentKind::general;
  }
  return all && open ? SegmentKind::constant : SegmentKind::simple;
}

/// A short run of constant blocks next to simple ones is done with them: reading a little more costs less than another loop.
void merge_short_runs(SegmentKind* kinds, Index count) {
  constexpr Index worth_a_loop = 3;
  for (Index k = 0; k < count;) {
    Index end = k + 1;
    while (end < count && kinds[end] == kinds[k]) ++end;
    const bool beside_simple =
        (k > 0 && kinds[k - 1] == SegmentKind::simple) || (end < count && kinds[end] == SegmentKind::simple);
    if (kinds[k] == SegmentKind::constant && end - k < worth_a_loop && beside_simple)
      std::fill(kinds + k, kinds + end, SegmentKind::simple);
    k = end;
  }
}

}  // namespace

template <class C, int D>
void FaceMatrix<C, D>::reset(const CellLayout<D>& cells, bool with_faces) {
  layout = cells;
  has_faces = with_faces;
  const auto fit = [&](auto& block) {
    if (block.size() != cells.size) block = std::remove_reference_t<decltype(block)>(cells.size);
    zero(block);
  };
  if (with_faces)
    for (auto& f : faces) fit(f);
  fit(diagonal);
  fit(active);
}

template <class C, int D>
void FaceMatrix<C, D>::finish() {
  const Index length = layout.cells[D - 1];
  const Index row_blocks = (length + cell_block - 1) / cell_block;
  block_kinds_.resize(static_cast<std::size_t>(row_blocks * layout.rows()));
  active_in_row_.resize(static_cast<std::size_t>(layout.rows()));
  const Index chunk = std::max<Index>(1, 16384 / length);
  parallel_for(0, layout.rows(), chunk, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      const Index first = layout.row(r);
      Index n = 0;
      for (Index k = first; k < first + length; ++k) {
        active[k] = diagonal[k] != 0;
        n += active[k];
      }
      active_in_row_[static_cast<std::size_t>(r)] = n;
    }
  });
  layout.halo.exchange(active.data());
  parallel_for(0, layout.rows(), chunk, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      const Coord<D> c = layout.row_coordinate(r);
      bool seam = false;
      for (std::size_t d = 0; d + 1 < D; ++d) seam |= layout.on_odd_seam(d, c[d]);
      for (Index k = 0; k < row_blocks; ++k) {
        SegmentKind kind =
            block_kind(*this, layout.row(r) + k * cell_block, std::min<Index>(cell_block, length - k * cell_block));
        const bool at_seam =
            seam || (k == 0 && layout.on_odd_seam(D - 1, 0)) || (k == row_blocks - 1 && layout.on_odd_seam(D - 1, length - 1));
        if (kind == SegmentKind::constant && at_seam) kind = SegmentKind::simple;
        block_kinds_[static_cast<std::size_t>(r * row_blocks + k)] = kind;
      }
    }
  });
  segments.clear();
  plane_begin.clear();
  unknowns = 0;
  for (Index r = 0; r < layout.rows(); ++r) {
    if (r % layout.rows_per_plane() == 0) plane_begin.push_back(static_cast<Index>(segments.size()));
    unknowns += active_in_row_[static_cast<std::size_t>(r)];
    const Coord<D> c = layout.row_coordinate(r);
    SegmentKind* kinds = block_kinds_.data() + r * row_blocks;
    merge_short_runs(kinds, row_blocks);
    for (Index k = 0; k < row_blocks;) {
      Index end = k + 1;
      while (end < row_blocks && kinds[end] == kinds[k] && end - k < max_blocks) ++end;
      if (kinds[k] != SegmentKind::empty)
        segments.push_back({layout.row(r) + k * cell_block, static_cast<std::int32_t>(end - k), kinds[k],
                            static_cast<std::uint8_t>(layout.parity(c))});
      k = end;
    }
  }
  plane_begin.push_back(static_cast<Index>(segments.size()));
}

template <class C, int D>
C dirichlet_coupling(const FaceMatrix<C, D>& a, Index cell) {
  C balanced = 0;
  for (int d = 0; d < D; ++d) {
    const Index s = a.layout.strides[static_cast<std::size_t>(d)];
    if (a.active[cell - s]) balanced += a.face(d, cell);
    if (a.active[cell + s]) balanced += a.face(d, cell + s);
  }
  const C rest = a.diagonal[cell] - balanced - a.mass_of(cell);
  return rest > 16 * std::numeric_limits<C>::epsilon() * a.diagonal[cell] ? rest : C(0);
}

#define MENISCUS_INSTANTIATE(C, D)  \
  template struct FaceMatrix<C, D>; \
  template C dirichlet_coupling<C, D>(const FaceMatrix<C, D>&, Index);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
