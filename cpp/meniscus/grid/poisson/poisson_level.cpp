#include "meniscus/grid/poisson/poisson_level.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/segment_kernels.hpp"

#include <cstring>

namespace meniscus::grid {
namespace {

/// Slabs of planes for sweeps that pass over memory once: at least 2 * half_sweeps planes each, so that what is done at one end
/// does not meet what is done at the other, and enough cells to be worth a task.
constexpr Index slab_cells = 1 << 16;

template <int D>
Index slab_count(const CellLayout<D>& layout, Index planes) {
  const Index thick = std::max<Index>(3 * half_sweeps, (slab_cells + layout.plane_cells() - 1) / layout.plane_cells());
  return planes / thick;
}

}  // namespace

template <int D>
void PoissonLevel<D>::prepare() {
  RowChanges<D> all;
  all.mark_all(matrix.layout);
  prepare(all);
}

template <int D>
void PoissonLevel<D>::prepare(const RowChanges<D>& changed) {
  const CellLayout<D>& layout = matrix.layout;
  if (x.size() != layout.size || changed.all()) {
    for (Block<float>* block : {&inverse_diagonal, &x, &b, &residual})
      if (block->size() != layout.size) *block = Block<float>(layout.size);
    // Of the right-hand side, only what has been written is ever read. Ghosts beyond sides keep a residual of zero.
    parallel_for(0, layout.size, 1 << 16, [&](Index begin, Index end) {
      for (Block<float>* block : {&inverse_diagonal, &x, &residual})
        std::memset(block->data() + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  }
  for_each_changed_row(changed, [&](Index r) {
    const Index first = layout.row(r), length = layout.cells[D - 1];
    const float* diagonal = matrix.diagonal.data() + first;
    float* inverse = inverse_diagonal.data() + first;
    int none = 0;
    for (Index k = 0; k < length; ++k) {
      inverse[k] = diagonal[k] > 0 ? 1.0f / diagonal[k] : 0.0f;
      none |= !(diagonal[k] > 0);
    }
    // Sweeps and residuals do not write where there are no unknowns any more.
    for (Index k = 0; none && k < length; ++k)
      if (!(diagonal[k] > 0)) x[first + k] = residual[first + k] = 0.0f;
  });
  damp_odd_seams(changed);
}

template <int D>
template <class Body>
void PoissonLevel<D>::for_each_changed_row(const RowChanges<D>& changed, Body&& body) const {
  parallel_for(0, matrix.layout.rows(), std::max<Index>(1, 16384 / matrix.layout.cells[D - 1]), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      if (changed[r]) body(r);
  });
}

template <int D>
void PoissonLevel<D>::damp_odd_seams(const RowChanges<D>& changed) {
  const CellLayout<D>& layout = matrix.layout;
  damped_ = false;
  for (std::size_t d = 0; d < D; ++d) damped_ |= layout.has_odd_seam(d);
  if (!damped_) return;
  const Index length = layout.cells[D - 1];
  // The cell across a seam may be in another row.
  around_ = changed;
  around_.widen();
  for_each_changed_row(around_, [&](Index r) {
    Coord<D> c = layout.row_coordinate(r);
    bool row = false;
    for (std::size_t d = 0; d + 1 < D; ++d) row |= layout.on_odd_seam(d, c[d]);
    for (Index k = 0; k < length; k += row ? 1 : std::max<Index>(1, length - 1)) {
      c[D - 1] = k;
      const Index i = layout.index(c);
      if (!matrix.active[i]) continue;
      float across = 0;
      for (int d = 0; d < D; ++d) {
        const Index axis = d;
        if (!layout.on_odd_seam(axis, c[axis])) continue;
        const Index s = layout.strides[axis];
        const bool upper = layout.first[axis] + c[axis] > 0;
        if (matrix.active[upper ? i + s : i - s]) across += matrix.face(d, upper ? i + s : i);
      }
      inverse_diagonal[i] = 1.0f / (matrix.diagonal[i] + 0.5f * across);
    }
  });
}

template <int D>
void PoissonLevel<D>::half_sweep(Index plane, int colour, bool from_zero, Index margin) {
  const std::array<const Segment*, 2> segments = segments_within(plane, margin);
  const Segment *begin = segments[0], *end = segments[1];
  const Couplings<float, D> couplings(matrix);
  const float* inverse = inverse_diagonal.data();
  const float* rhs = b.data();
  float* values = x.data();
  if (from_zero) {
    simd_dispatch([=] {
      float relaxed[segment_cells];
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int parity) {
        const int mine = parity ^ colour;
        // Loops of one selection each: the compiler makes no vector code of more. Nobody has set the right-hand side behind the
        // last cell of a row.
        for (int l = 0; l < cells; ++l) relaxed[l] = rhs[first + l] * inverse[first + l];
        if constexpr (!is_constant(kind))
          for (int l = 0; l < cells; ++l) relaxed[l] = inverse[first + l] != 0 ? relaxed[l] : 0.0f;
        for (int l = 0; l < cells; ++l) values[first + l] = ((l ^ mine) & 1) == 0 ? relaxed[l] : 0.0f;
      });
    });
  } else {
    const float open_diagonal = matrix.open_diagonal(), open_inverse = 1.0f / open_diagonal;
    const float* diagonal = damped_ ? matrix.diagonal.data() : nullptr;
    simd_dispatch([=] {
      float relaxed[segment_cells];
      for_each_segment(begin, end, [&]<SegmentKind kind>(Index first, int cells, int parity) {
        const int mine = parity ^ colour;
        if constexpr (is_constant(kind)) {
          for (int l = 0; l < cells; ++l) relaxed[l] = couplings.template sum<kind>(values, first + l) + rhs[first + l];
          // One formula for all kinds of segments: which cells are in one depends on where the block begins.
          if (diagonal)
            for (int l = 0; l < cells; ++l)
              relaxed[l] = values[first + l] + (relaxed[l] - open_diagonal * values[first + l]) * open_inverse;
          else
            for (int l = 0; l < cells; ++l) relaxed[l] *= open_inverse;
        } else {
          for (int l = 0; l < cells; ++l) relaxed[l] = couplings.template sum<kind>(values, first + l) + rhs[first + l];
          if (diagonal)
            for (int l = 0; l < cells; ++l)
              relaxed[l] = values[first + l] + (relaxed[l] - diagonal[first + l] * values[first + l]) * inverse[first + l];
          else
            for (int l = 0; l < cells; ++l) relaxed[l] *= inverse[first + l];
          // A lane that is no unknown may be the ghost behind the row, which must not change within a sweep.
          for (int l = 0; l < cells; ++l) relaxed[l] = inverse[first + l] != 0 ? relaxed[l] : values[first + l];
        }
        for (int l = 0; l < cells; ++l) values[first + l] = ((l ^ mine) & 1) == 0 ? relaxed[l] : values[first + l];
      });
    });
  }
  for (int d = 1; d < D; ++d) matrix.layout.halo.copy_in_plane(d, values, plane);
}

template <int D>
void PoissonLevel<D>::smooth(const std::array<int, half_sweeps>& colours, bool from_zero) {
  const CellLayout<D>& layout = matrix.layout;
  // The first half-sweep goes farthest.
  const auto [lowest, top] = within(0, swept_margin(from_zero, 0));
  const Index planes = top - lowest;
  const Index slabs = slab_count(layout, planes);
  const auto run = [&](Index plane, int s) {
    const Index margin = swept_margin(from_zero, s);
    const auto [begin, end] = within(0, margin);
    if (plane >= begin && plane < end) half_sweep(plane, colours[s], from_zero && s == 0, margin);
  };

  if (layout.halo.block().cut()) {
    // The other blocks see each half-sweep. Planes that touch are not done at the same time: all lanes of a plane are written.
    for (int s = 0; s < half_sweeps; ++s) {
      for (const Index odd : {0, 1})
        parallel_for(0, (planes + 1 - odd) / 2, std::max<Index>(1, 32768 / layout.plane_cells()), [&](Index begin, Index end) {
          for (Index i = begin; i < end; ++i) run(2 * i + odd, s);
        });
      layout.halo.exchange(x.data());
    }
    return;
  }
  if (slabs < 2) {
    for (int s = 0; s < half_sweeps; ++s) {
      for (Index i = lowest; i < top; ++i) run(i, s);
      layout.halo.exchange(0, x.data());
    }
    return;
  }
  const auto bound = [&](Index k) { return lowest + planes * k / slabs; };
  const bool wraps = layout.shared(0, 0);
  // Each slab goes through its planes once, half-sweep s one plane behind half-sweep s - 1. Near another slab, half-sweep s stops
  // s + 1 planes short: no slab reads what another one writes.
  parallel_for(0, slabs, 1, [&](Index k, Index) {
    const Index begin = bound(k), end = bound(k + 1);
    const bool free_begin = k == 0 && !wraps, free_end = k + 1 == slabs && !wraps;
    for (Index front = begin; front < end + half_sweeps - 1; ++front)
      for (int s = 0; s < half_sweeps; ++s) {
        const Index i = front - s;
        if (i >= (free_begin ? begin : begin + s + 1) && i < (free_end ? end : end - s - 1)) run(i, s);
      }
  });
  // The missing cells lie in wedges around the ends of the slabs.
  parallel_for(1, slabs, 1, [&](Index k, Index) {
    for (int s = 0; s < half_sweeps; ++s)
      for (Index i = bound(k) - s - 1; i <= bound(k) + s; ++i) run(i, s);
  });
  if (wraps)
    for (int s = 0; s < half_sweeps; ++s) {
      for (Index i = -s - 1; i <= s; ++i) run(i < 0 ? i + planes : i, s);
      layout.halo.exchange(0, x.data());
    }
}

template <int D>
void PoissonLevel<D>::compute_residual() {
  const CellLayout<D>& layout = matrix.layout;
  // The last half-sweep leaves no residual in black cells, unless two of them meet across a periodic side.
  bool black_too = false;
  for (std::size_t d = 0; d < D; ++d) black_too |= layout.has_odd_seam(d) || layout.single_cell_ring(d);
  const auto [lowest, top] = within(0, restricted_margin);
  const Couplings<float, D> couplings(matrix);
  parallel_for(lowest, top, std::max<Index>(1, 32768 / layout.plane_cells()), [&](Index first_plane, Index last_plane) {
    const float open_diagonal = matrix.open_diagonal();
    const float* diagonal = matrix.diagonal.data();
    const float* rhs = b.data();
    const float* values = x.data();
    float* out = residual.data();
    for (Index plane = first_plane; plane < last_plane; ++plane) {
      const std::array<const Segment*, 2> segments = segments_within(plane, restricted_margin);
      simd_dispatch([=] {
        float rest[segment_cells];
        for_each_segment(segments[0], segments[1], [&]<SegmentKind kind>(Index first, int cells, int parity) {
          for (int l = 0; l < cells; ++l) rest[l] = rhs[first + l] + couplings.template sum<kind>(values, first + l);
          if constexpr (is_constant(kind)) {
            for (int l = 0; l < cells; ++l) rest[l] -= open_diagonal * values[first + l];
          } else {
            for (int l = 0; l < cells; ++l) rest[l] -= diagonal[first + l] * values[first + l];
            for (int l = 0; l < cells; ++l) rest[l] = diagonal[first + l] != 0 ? rest[l] : 0.0f;
          }
          if (black_too)
            for (int l = 0; l < cells; ++l) out[first + l] = rest[l];
          else
            for (int l = 0; l < cells; ++l) out[first + l] = ((l ^ parity) & 1) == 0 ? rest[l] : 0.0f;
        });
      });
    }
  });
}

template class PoissonLevel<2>;
template class PoissonLevel<3>;

}  // namespace meniscus::grid
