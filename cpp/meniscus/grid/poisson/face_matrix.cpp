#include "meniscus/grid/poisson/face_matrix.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace meniscus::grid {
namespace {

constexpr Index max_blocks = segment_cells / cell_block;

/// Whether a (b + c) is a b + a c to the last bit.
template <class C>
bool distributes(C a) {
  int exponent = 0;
  return a == 0 || std::frexp(a, &exponent) == C(0.5);
}

template <class C>
void zero(Block<C>& block) {
  parallel_for(0, block.size(), 1 << 16,
               [&](Index b, Index e) { std::memset(block.data() + b, 0, static_cast<std::size_t>(e - b) * sizeof(C)); });
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
  fit(rough);
}

template <class C, int D>
void FaceMatrix<C, D>::derive_rough(Index row) {
  const Index first = layout.row(row), length = layout.cells[D - 1];
  const std::uint8_t* here = active.data();
  std::uint8_t* to = rough.data();
  if (!has_faces) {
    std::memset(to + first, 0, static_cast<std::size_t>(length));
    return;
  }
  std::array<const C*, D> face;
  for (std::size_t d = 0; d < D; ++d) face[d] = faces[d].data();
  simd_dispatch([=, open = open_coupling, strides = layout.strides] {
    std::uint8_t bits[segment_cells], differs[segment_cells];
    for (Index from = first; from < first + length; from += segment_cells) {
      const Index count = std::min<Index>(segment_cells, first + length - from);
      std::memset(bits, 0, sizeof bits);
      for (std::size_t d = 0; d < D; ++d) {
        const C* f = face[d] + from;
        const C inner = open[d];
        const std::uint8_t *own = here + from, *below = here + from - strides[d];
        const int bit = 1 << d;
        for (Index l = 0; l < count; ++l) differs[l] = f[l] != inner;
        for (Index l = 0; l < count; ++l) bits[l] = static_cast<std::uint8_t>(bits[l] | (own[l] & below[l] & differs[l]) * bit);
      }
      std::memcpy(to + from, bits, static_cast<std::size_t>(count));
    }
  });
}

template <class C, int D>
void FaceMatrix<C, D>::derive_kinds(Index row) {
  const Index length = layout.cells[D - 1], row_blocks = (length + cell_block - 1) / cell_block;
  const Coord<D> c = layout.row_coordinate(row);
  const C open = open_diagonal();
  bool seam = false;
  for (std::size_t d = 0; d + 1 < D; ++d) seam |= layout.on_odd_seam(d, c[d]);
  SegmentKind* kinds = block_kinds_.data() + row * row_blocks;
  for (Index k = 0; k < row_blocks; ++k) {
    const Index first = layout.row(row) + k * cell_block, lanes = std::min<Index>(cell_block, length - k * cell_block);
    const std::uint8_t *here = active.data() + first, *bits = rough.data() + first;
    const C* value = diagonal.data() + first;
    int any = 0, all = lanes == cell_block, general = 0, varies = 0;
    for (Index l = 0; l < lanes; ++l) {
      any |= here[l];
      all &= here[l];
      varies |= value[l] != open;
      int around = bits[l];
      for (std::size_t d = 0; d < D; ++d) around |= bits[l + layout.strides[d]] >> d & 1;
      general |= around & -static_cast<int>(here[l]);
    }
    const bool at_seam =
        seam || (k == 0 && layout.on_odd_seam(D - 1, 0)) || (k == row_blocks - 1 && layout.on_odd_seam(D - 1, length - 1));
    kinds[k] = !any                         ? SegmentKind::empty
               : general                    ? SegmentKind::general
               : all && !varies && !at_seam ? SegmentKind::constant
                                            : SegmentKind::simple;
  }
  merge_short_runs(kinds, row_blocks);
}

template <class C, int D>
void FaceMatrix<C, D>::finish(const RowChanges<D>* changed) {
  const Index length = layout.cells[D - 1];
  const Index row_blocks = (length + cell_block - 1) / cell_block;
  block_kinds_.resize(row_blocks * layout.rows());
  active_in_row_.resize(layout.rows());
  const Index chunk = std::max<Index>(1, 16384 / length);
  if (changed)
    around_ = *changed;
  else
    around_.mark_all(layout);
  parallel_for(0, layout.rows(), chunk, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      if (!around_[r]) continue;
      const Index first = layout.row(r);
      Index n = 0;
      for (Index k = first; k < first + length; ++k) {
        active[k] = diagonal[k] != 0;
        n += active[k];
      }
      active_in_row_[r] = n;
    }
  });
  layout.halo.exchange(active.data());
  // What is derived from a face depends on the unknowns of both rows beside it.
  around_.widen();
  const auto for_rows = [&](auto&& body) {
    parallel_for(0, layout.rows(), chunk, [&](Index b, Index e) {
      for (Index r = b; r < e; ++r)
        if (around_[r]) body(r);
    });
  };
  for_rows([&](Index r) { derive_rough(r); });
  layout.halo.exchange(rough.data());
  for_rows([&](Index r) { derive_kinds(r); });
  segments.clear();
  row_begin.clear();
  unknowns = 0;
  const bool apart = !std::all_of(open_coupling.begin(), open_coupling.end(), distributes<C>);
  const auto kind_of = [&](SegmentKind kind) {
    if (apart && kind == SegmentKind::constant) return SegmentKind::constant_apart;
    return apart && kind == SegmentKind::simple ? SegmentKind::simple_apart : kind;
  };
  for (Index r = 0; r < layout.rows(); ++r) {
    row_begin.push_back(static_cast<Index>(segments.size()));
    unknowns += active_in_row_[r];
    const auto parity = static_cast<std::uint8_t>(layout.parity(layout.row_coordinate(r)));
    const SegmentKind* kinds = block_kinds_.data() + r * row_blocks;
    for (Index k = 0; k < row_blocks;) {
      Index end = k + 1;
      while (end < row_blocks && kinds[end] == kinds[k] && end - k < max_blocks) ++end;
      if (kinds[k] != SegmentKind::empty)
        segments.push_back({layout.row(r) + k * cell_block, static_cast<std::int32_t>(end - k), kind_of(kinds[k]), parity});
      k = end;
    }
  }
  row_begin.push_back(static_cast<Index>(segments.size()));
}

template <class C, int D>
C dirichlet_coupling(const FaceMatrix<C, D>& a, Index cell) {
  C balanced = 0;
  for (int d = 0; d < D; ++d) {
    const Index s = a.layout.strides[d];
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
