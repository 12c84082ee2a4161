/// Matrix of a Poisson problem in finite-volume form: one coefficient per face and one diagonal entry per cell.
///
/// Row i reads  diagonal_i x_i - sum over faces of coefficient_f x_j.  A cell whose diagonal is zero is no unknown; its value is
/// fixed at zero. A coefficient on a face towards it is therefore a Dirichlet condition: it enters the diagonal only.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/grid/poisson/row_changes.hpp"

#include <vector>

namespace meniscus::grid {

/// Kind of a piece of a row: how many of its coefficients a kernel has to read.
enum class SegmentKind : std::uint8_t {
  empty,     ///< no unknowns
  constant,  ///< every cell is an unknown with the diagonal and the couplings of the open medium, and not on an odd seam
  simple,    ///< the couplings between unknowns are those of the open medium, the diagonal varies
  general,   ///< everything varies
  /// The same as `constant` and `simple` where a coupling of the open medium is no power of two. Each neighbour is multiplied by
  /// it alone, as in `general`: which cells are in segments of a kind depends on where a row begins, what is computed must not.
  constant_apart,
  simple_apart,
};

constexpr bool is_constant(SegmentKind kind) { return kind == SegmentKind::constant || kind == SegmentKind::constant_apart; }

/// Segments no longer than this keep a kernel's scratch small.
inline constexpr int segment_cells = 16 * cell_block;

/// Whole blocks of one row that are of one kind. `parity` is that of the coordinate sum of the first cell in the domain.
struct Segment {
  Index index = 0;
  std::int32_t blocks = 0;
  SegmentKind kind = SegmentKind::empty;
  std::uint8_t parity = 0;
};

template <class C, int D>
struct FaceMatrix {
  CellLayout<D> layout;
  /// Coupling of two neighbouring unknowns along each axis in the open medium. The bits of a solve do not depend on how the
  /// domain is cut into blocks where it is a power of two: kernels of open cells add two neighbours before they multiply.
  std::array<C, D> open_coupling{};
  /// Coefficient on the lower face of a cell along each axis (the upper face is the lower one of the next cell, also for the
  /// ghost cell behind the last). Without `has_faces` the open coupling holds on every face and the arrays are empty.
  bool has_faces = false;
  std::array<Block<C>, D> faces;
  /// Zero in cells that are no unknowns and in all ghosts.
  Block<C> diagonal;
  /// The part of a diagonal that is not a flux, such as the identity in I - dt nu laplacian: the same in every unknown, or one
  /// per cell where `masses` is not empty.
  C mass = 0;
  Block<C> masses;
  /// 1 where the diagonal is not zero; the ghosts beyond shared sides hold copies.
  Block<std::uint8_t> active;
  /// Bit d: the face below the cell along axis d lies between two unknowns, and its coefficient is not the open coupling. The
  /// ghosts beyond shared sides hold copies.
  Block<std::uint8_t> rough;
  /// In the order of the rows; those of row r are [row_begin[r], row_begin[r + 1]).
  std::vector<Segment> segments;
  std::vector<Index> row_begin;
  Index unknowns = 0;

  /// Sets the layout and all values to zero; reuses memory of the right size.
  void reset(const CellLayout<D>& cells, bool with_faces);

  C face(int axis, Index cell) const { return has_faces ? faces[axis][cell] : open_coupling[axis]; }

  /// The first segment of a row, or of those behind it.
  const Segment* row_segments(Index row) const { return segments.data() + row_begin[row]; }
  /// The first segment of a plane across axis 0.
  const Segment* plane_segments(Index plane) const { return row_segments(plane * layout.rows_per_plane()); }

  C mass_of(Index cell) const { return masses.size() > 0 ? masses[cell] : mass; }

  /// Derives `active`, `rough`, the segments and the number of unknowns. Call it when all coefficients are set, including those
  /// on the last face of a periodic axis (a copy of the first). With `changed`, only where coefficients have changed since.
  void finish(const RowChanges<D>* changed = nullptr);

  /// The rows for which the last `finish` derived something anew: those that had changed, and those next to them.
  const RowChanges<D>& derived() const { return around_; }
  Index unknowns_in_row(Index row) const { return active_in_row_[row]; }

  /// Takes what the same matrix in another precision has derived; the unknowns share their memory.
  template <class Other>
  void take_derived(const FaceMatrix<Other, D>& a) {
    active = a.active;
    rough = a.rough;
    segments = a.segments;
    row_begin = a.row_begin;
    unknowns = a.unknowns;
  }

  /// Bytes of the arrays; of those that another precision shares, only with `derived`.
  Index bytes(bool derived = true) const {
    Index n = (diagonal.size() + masses.size()) * static_cast<Index>(sizeof(C));
    for (const auto& f : faces) n += f.size() * static_cast<Index>(sizeof(C));
    if (derived) n += active.size() + rough.size();
    return n + static_cast<Index>(segments.capacity() * sizeof(Segment) + row_begin.capacity() * sizeof(Index) +
                                  block_kinds_.capacity() + active_in_row_.capacity() * sizeof(Index));
  }

  C open_diagonal() const {
    C sum = 0;
    for (C c : open_coupling) sum += 2 * c;
    return sum;
  }

 private:
  void derive_rough(Index row);
  void derive_kinds(Index row);

  RowChanges<D> around_;
  std::vector<SegmentKind> block_kinds_;
  std::vector<Index> active_in_row_;
};

/// Part of the diagonal that is neither mass nor coupling to other unknowns: positive at Dirichlet conditions, else zero.
template <class C, int D>
C dirichlet_coupling(const FaceMatrix<C, D>& a, Index cell);

}  // namespace meniscus::grid
