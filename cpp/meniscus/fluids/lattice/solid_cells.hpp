/// Cells of a lattice that are covered by solids: flags with one ghost layer, bits for the packs of a sweep, and a list.
#pragma once

#include "meniscus/fluids/lattice/populations.hpp"
#include "meniscus/fluids/lattice/sides.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

namespace meniscus::fluids::lattice {

template <int D>
class SolidCells {
 public:
  SolidCells(const CellBox<D>& box, int lanes) : box_(box), lanes_(lanes) {}

  bool any() const { return !list_.empty(); }
  bool solid(Index cell) const { return flags_.size() > 0 && flags_[cell] != 0; }
  const std::uint8_t* bits() const { return any() ? bits_.data() : nullptr; }
  Index packs_per_row() const { return (box_.cells[D - 1] + lanes_ - 1) / lanes_; }
  /// Indices in the box, ascending; of those that `finish` has made solid.
  std::span<const Index> list() const { return list_; }
  Index bytes() const {
    return flags_.size() + bits_.size() + static_cast<Index>((list_.capacity() + before_.capacity()) * sizeof(Index));
  }

  Coord<D> coordinate(Index cell) const {
    Coord<D> c{};
    for (int d = 0; d < D; ++d) {
      c[d] = cell / box_.strides[d] - 1;
      cell %= box_.strides[d];
    }
    return c;
  }

  /// Begins a new set of solid cells.
  void begin() {
    std::swap(list_, before_);
    list_.clear();
  }
  /// Adds those cells of [lower, upper) whose distance (C-ordered) is not above 0.
  void add(const Coord<D>& lower, const Coord<D>& upper, const double* distance) {
    Coord<D> extents{};
    for (int d = 0; d < D; ++d) extents[d] = std::max<Index>(upper[d] - lower[d], 0);
    const Index count = core::product<D>(extents);
    for (Index i = 0; i < count; ++i) {
      if (distance[i] > 0) continue;
      Coord<D> c{};
      Index left = i;
      for (int d = D - 1; d >= 0; --d) {
        c[d] = lower[d] + left % extents[d];
        left /= extents[d];
      }
      list_.push_back(box_.index(c));
    }
  }
  /// Makes the cells solid that were added, and all others fluid; `covered` and `uncovered` become those that change. Cells at
  /// sides beyond which the domain goes on have images among the ghosts.
  void finish(const Sides<D>& sides, std::vector<Index>& covered, std::vector<Index>& uncovered) {
    std::sort(list_.begin(), list_.end());
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
    covered.clear();
    uncovered.clear();
    std::set_difference(list_.begin(), list_.end(), before_.begin(), before_.end(), std::back_inserter(covered));
    std::set_difference(before_.begin(), before_.end(), list_.begin(), list_.end(), std::back_inserter(uncovered));
    if (flags_.size() == 0 && any()) {
      flags_ = core::Block<std::uint8_t>(box_.size);
      bits_ = core::Block<std::uint8_t>(box_.rows() * packs_per_row());
      std::fill(flags_.begin(), flags_.end(), std::uint8_t{0});
      std::fill(bits_.begin(), bits_.end(), std::uint8_t{0xFF});
    }
    for (const Index cell : uncovered) mark(cell, 0, sides);
    for (const Index cell : covered) mark(cell, 1, sides);
  }

 private:
  void mark(Index cell, std::uint8_t value, const Sides<D>& sides) {
    const Coord<D> c = coordinate(cell);
    Index row = 0;
    for (int d = 0; d < D - 1; ++d) row = row * box_.cells[d] + c[d];
    const Index z = c[D - 1];
    std::uint8_t& bits = bits_[row * packs_per_row() + z / lanes_];
    const unsigned bit = 1U << (z % lanes_);
    bits = static_cast<std::uint8_t>(value ? bits & ~bit : bits | bit);
    // A cell at several such sides has an image beyond each edge and corner, too; one that is alone along an axis has two.
    std::array<Index, 27> images{cell};
    int count = 1;
    for (int d = 0; d < D; ++d) {
      if (sides[2 * d].kind != SideKind::around) continue;
      const Index period = box_.cells[d] * box_.strides[d];
      const int known = count;
      for (int i = 0; i < known; ++i) {
        if (c[d] == 0) images[count++] = images[i] + period;
        if (c[d] == box_.cells[d] - 1) images[count++] = images[i] - period;
      }
    }
    for (int i = 0; i < count; ++i) flags_[images[i]] = value;
  }

  CellBox<D> box_;
  int lanes_;
  core::Block<std::uint8_t> flags_, bits_;
  std::vector<Index> list_, before_;
};

}  // namespace meniscus::fluids::lattice
