/// First part of a coarsening: the fine cells of each coarse cell.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/grid/poisson/levels/block_rows.hpp"

#include <cstring>

namespace meniscus::grid {

template <int D>
class CellJoiner : public BlockRows<D> {
 protected:
  using Joining = CellJoining<D>;
  using Base = BlockRows<D>;
  using Base::children;
  using Base::fine_;
  using Base::for_each_row;
  using Base::geometry_;
  using Base::links_;
  using Base::offset_;
  using Base::owner_;
  using Base::rows_;
  using Base::state_;
  using Base::whole_row;

  using Base::Base;

  struct Parts {
    std::array<Index, static_cast<std::size_t>(children)> cell;
    /// The lowest child of the part that a child is in, or -1.
    std::array<int, static_cast<std::size_t>(children)> part;
  };

  /// Coefficient between a cell and the next one along an axis, zero if one of them is no unknown.
  float coupling(int axis, Index lower) const {
    const Index upper = lower + fine_.layout.strides[axis];
    return fine_.active[lower] && fine_.active[upper] ? fine_.face(axis, upper) : 0.0f;
  }

  Parts parts_of(const Coord<D>& block) const {
    Parts p;
    for (int c = 0; c < children; ++c) {
      const Index n = c;
      p.cell[n] = geometry_.child(block, c);
      p.part[n] = p.cell[n] >= 0 && fine_.active[p.cell[n]] ? c : -1;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int c = 0; c < children; ++c)
        for (int d = 0; d < D; ++d) {
          const int other = c | (1 << d);
          if (other == c) continue;
          int& a = p.part[c];
          int& b = p.part[other];
          if (a < 0 || b < 0 || a == b || coupling(d, p.cell[c]) <= 0) continue;
          a = b = std::min(a, b);
          changed = true;
        }
    }
    return p;
  }

  /// The first cell of a block that is full, or -1.
  Index full_block(const Coord<D>& block) const {
    for (std::size_t d = 0; d < D; ++d)
      if (!geometry_.halved[d] || 2 * block[d] + 1 >= fine_.layout.cells[d]) return -1;
    const Index first = geometry_.child(block, 0);
    bool active = true;
    for (const Index o : offset_) active &= fine_.active[first + o] != 0;
    if (!active) return -1;
    if (fine_.has_faces) {
      CoefficientRange range;
      for (std::size_t c = 0; c < offset_.size(); ++c)
        for (std::size_t d = 0; d < D; ++d)
          if ((c >> d) & 1) range.add(fine_.faces[d][first + offset_[c]]);
      if (!range.smooth()) return -1;
    }
    return first;
  }

  /// Marks plain blocks of a row: whole pieces of all rows of children at once.
  void find_plain(Index row, const Coord<D>& block) const {
    const Index blocks = geometry_.coarse.cells[D - 1], pairs = fine_.layout.cells[D - 1] / 2;
    std::memset(state_.data() + row, 0, static_cast<std::size_t>(blocks));
    if (!whole_row(block)) return;
    const Index first = fine_.layout.index(geometry_.first(block));
    for (Index begin = 0; begin < pairs; begin += piece_blocks) {
      const Index count = std::min(piece_blocks, pairs - begin);
      simd_dispatch([=, this] {
        std::uint8_t bad[2 * piece_blocks], any[2 * piece_blocks];
        std::memset(bad, 0, sizeof bad);
        std::memset(any, 0, sizeof any);
        for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
          const Index at = first + 2 * begin + offset_[rows];
          const std::uint8_t *active = fine_.active.data() + at, *rough = fine_.rough.data() + at;
          const int inner = rows;  // bit d: the face below the row along axis d lies in the block
          for (Index k = 0; k < 2 * count; ++k) {
            bad[k] = static_cast<std::uint8_t>(bad[k] | (active[k] ^ 1) | (rough[k] & (inner | (k & 1) << (D - 1))));
            any[k] |= active[k];
          }
        }
        std::uint8_t* to = state_.data() + row + begin;
        for (Index k = 0; k < count; ++k)
          to[k] = static_cast<std::uint8_t>(((bad[2 * k] | bad[2 * k + 1]) ? 0 : Joining::full | Joining::plain) |
                                            ((any[2 * k] | any[2 * k + 1]) ? 0 : Joining::empty));
      });
    }
  }

  void join_row(Index row, Coord<D> block) {
    find_plain(row, block);
    // Owners of the children of plain blocks, and none in the others.
    const Index length = fine_.layout.cells[D - 1];
    const std::uint8_t* state = state_.data() + row;
    for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
      Coord<D> c = block;
      c[D - 1] = 0;
      const Index first = geometry_.child(c, rows);
      if (first < 0) continue;
      std::uint8_t* owner = owner_.data() + first;
      const int shift = geometry_.halved[D - 1] ? 1 : 0;
      for (Index k = 0; k < length; ++k) owner[k] = (state[k >> shift] & Joining::plain) ? Joining::own_block : Joining::none;
    }
    for (Index k = 0; k < geometry_.coarse.cells[D - 1]; ++k) {
      if (state_[row + k]) continue;
      block[D - 1] = k;
      join_block(block, row + k);
    }
  }

  void join_block(const Coord<D>& block, Index index) {
    const Index first = full_block(block);
    if (first >= 0) {
      for (const Index o : offset_) owner_[first + o] = Joining::own_block;
      state_[index] = Joining::full;
      return;
    }
    const Parts p = parts_of(block);
    std::array<int, static_cast<std::size_t>(children)> size{};
    int unknowns = 0;
    for (int part : p.part)
      if (part >= 0) ++size[part], ++unknowns;
    if (unknowns == 0) {
      state_[index] = Joining::empty;
      return;
    }
    const auto largest = std::max_element(size.begin(), size.end());
    const int main = static_cast<int>(largest - size.begin());
    for (std::size_t c = 0; c < p.part.size(); ++c)
      if (p.part[c] == main) owner_[p.cell[c]] = Joining::own_block;
    if (*largest < unknowns) state_[index] = Joining::split;
  }

  void attach_rest() {
    const CellLayout<D>& layout = geometry_.coarse;
    for (Index r = 0; r < layout.rows(); ++r) {
      if (!(*rows_)[r]) continue;
      const Index first = layout.row(r);
      for (Index k = 0; k < layout.cells[D - 1]; ++k) {
        if (!(state_[first + k] & Joining::split)) continue;
        Coord<D> block = layout.row_coordinate(r);
        block[D - 1] = k;
        const Parts p = parts_of(block);
        for (int part = 0; part < children; ++part) attach(p, part);
      }
    }
  }

  /// Gives a part that is not the main one to the neighbouring block with which it has the strongest connection.
  void attach(const Parts& p, int part) {
    std::array<float, static_cast<std::size_t>(2 * D)> strength{};
    bool any = false;
    for (int c = 0; c < children; ++c) {
      const Index i = p.cell[c];
      if (p.part[c] != part || owner_[i] == Joining::own_block) continue;
      any = true;
      for (int d = 0; d < D; ++d) {
        const Index axis = d;
        if (!geometry_.halved[axis]) continue;
        const int side = (c >> d) & 1;
        const Index s = fine_.layout.strides[axis];
        const Index other = wrapped(i, d, side);
        if (other >= 0 && owner_[other] == Joining::own_block) strength[2 * d + side] += coupling(d, side ? i : i - s);
      }
    }
    if (!any) return;
    const auto best = std::max_element(strength.begin(), strength.end());
    if (*best <= 0) return;
    const auto code = static_cast<std::uint8_t>(2 + (best - strength.begin()));
    for (int c = 0; c < children; ++c)
      if (p.part[c] == part) owner_[p.cell[c]] = code;
  }

  /// Index of the cell next to one that lies at the given end of its block, or -1 beyond a side.
  Index wrapped(Index cell, int axis, int side) const {
    const CellLayout<D>& layout = fine_.layout;
    const Index s = layout.strides[axis];
    Index c = cell - layout.origin;
    for (int k = 0; k < axis; ++k) c %= layout.strides[k];
    c /= s;
    if (side && c + 1 == layout.cells[axis]) return layout.periodic[axis] ? cell - c * s : -1;
    if (!side && c == 0) return layout.periodic[axis] ? cell + (layout.cells[axis] - 1) * s : -1;
    return side ? cell + s : cell - s;
  }
};

}  // namespace meniscus::grid
