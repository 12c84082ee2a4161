/// Sign bits of a level set: one bit per sample, inside (phi <= 0) or not. One operation tests 64 samples, so that the work after
/// this scan grows with the surface, not with the grid.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/surface/extraction/level_set_lattice.hpp"

#include <bit>

namespace meniscus::surface {

/// The signs of a completed lattice. Rows (all axes but the last) are `words` words long; bits beyond the row are zero.
template <int D>
class SignBits {
 public:
  /// Throws InvalidArgument with the index of the first sample that is not finite.
  template <class T>
  SignBits(const grid::Field<T, D>& phi, const LevelSetLattice<T, D>& lattice, Workspace& workspace);

  const Coord<D>& extents() const { return extents_; }
  Index rows() const { return rows_; }
  Index words() const { return words_; }
  /// From row to row along axis d < D - 1.
  Index stride(int d) const { return strides_[d]; }

  std::uint64_t word(Index row, Index w) const { return bits_.data()[row * words_ + w]; }
  /// The samples that follow those of word w.
  std::uint64_t next(Index row, Index w) const {
    const std::uint64_t* b = bits_.data() + row * words_ + w;
    return b[0] >> 1 | (w + 1 < words_ ? b[1] << 63 : 0);
  }
  /// Lets samples of word w count as not inside.
  void clear(Index row, Index w, std::uint64_t samples) { bits_.data()[row * words_ + w] &= ~samples; }
  bool inside(Index row, Index k) const { return word(row, k >> 6) >> (k & 63) & 1; }

  /// The bits of word w whose sample has a next one in its row.
  std::uint64_t has_next(Index w) const {
    const Index left = extents_[D - 1] - 1 - 64 * w;
    return left >= 64 ? ~std::uint64_t{0} : left <= 0 ? 0 : (std::uint64_t{1} << left) - 1;
  }

 private:
  Coord<D> extents_;
  Index words_;
  Index rows_;
  std::array<Index, D> strides_{};
  Workspace::Lease<std::uint64_t> bits_;
};

/// Calls f(bit) for every set bit, from the lowest.
template <class F>
MENISCUS_INLINE void for_each_bit(std::uint64_t bits, F&& f) {
  for (; bits; bits &= bits - 1) f(std::countr_zero(bits));
}

/// Index of the row's first sample, the last axis at 0.
template <int D>
Coord<D> lattice_row(const Coord<D>& extents, Index row) {
  Coord<D> c{};
  for (int d = D - 2; d >= 0; --d) {
    const Index a = d;
    c[a] = row % extents[a];
    row /= extents[a];
  }
  return c;
}

/// Rows that are worth one piece of a parallel loop.
template <int D>
Index rows_per_piece(const SignBits<D>& signs) {
  return std::max<Index>(1, 64 / signs.words());
}

}  // namespace meniscus::surface
