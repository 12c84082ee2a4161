/// Regular grid of boxes: finds elements that may overlap a box; single elements can be inserted and removed at any time.
///
/// Source: Brochu 2012, section 3.3.5 (a grid of bounding boxes per kind of element).
#pragma once

#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/mesh/search/box.hpp"

#include <vector>

namespace meniscus::collision {

/// Elements have numbers from 0; each is in the grid at most once. Elements may lie outside of the region of the grid: then they
/// belong to its outermost cells. Elements that cover very many cells are stored in a list instead, which every query scans.
class ElementGrid {
 public:
  ElementGrid() = default;

  /// An empty grid over `region` with cells of this size, m, or larger ones, so that there are at most about `max_cells`.
  ElementGrid(const mesh::Box& region, double cell_size, Index max_cells);

  /// Empties the grid and puts in the element i with boxes[i], for all i: with cells of the mean size of the boxes, and at most
  /// about two per element.
  void build(std::span<const mesh::Box> boxes, Workspace& workspace);

  /// Inserts an element that is not in the grid.
  void insert(std::int32_t element, const mesh::Box& box);

  /// Removes an element of the grid.
  void remove(std::int32_t element);

  bool contains(std::int32_t element) const {
    return static_cast<std::size_t>(element) < present_.size() && present_[element] != 0;
  }
  /// The box of an element of the grid.
  const mesh::Box& box(std::int32_t element) const { return boxes_[element]; }
  const Coord<3>& cells() const { return cells_; }
  Index nbytes() const;

  /// Calls f(element) once for each element whose closed box overlaps `query`, in no particular order.
  template <class F>
  void for_each_overlap(const mesh::Box& query, F&& f) const {
    const StandardArithmetic arithmetic;
    for (const std::int32_t e : large_)
      if (box(e).overlaps(query)) f(e);
    if (begin_.empty()) return;
    const Coord<3> first = cell_of(query.low);
    const Coord<3> last = cell_of(query.high);
    Coord<3> c;
    for (c[0] = first[0]; c[0] <= last[0]; ++c[0])
      for (c[1] = first[1]; c[1] <= last[1]; ++c[1])
        for (c[2] = first[2]; c[2] <= last[2]; ++c[2])
          for_each_in(number_of(c), [&](std::int32_t e) {
            // Only the first of the cells that both boxes cover reports the element.
            const auto& own = first_cell_[e];
            bool here = true;
            for (std::size_t d = 0; d < 3; ++d) here &= std::max<Index>(own[d], first[d]) == c[d];
            if (here && box(e).overlaps(query)) f(e);
          });
  }

 private:
  /// An element inserted after its cell had been filled, and the position of the next one of the cell; -1 at the end.
  struct Late {
    std::int32_t element;
    std::int32_t next;
  };

  /// The cell along each axis. It never decreases with the position, which is all that correctness needs.
  Coord<3> cell_of(const mesh::Point& p) const {
    Coord<3> c;
    for (int d = 0; d < 3; ++d) {
      const double place = (p[d] - region_.low[d]) / size_;
      const Index last = cells_[d] - 1;
      // NaN if both are minus infinity: then the first cell is right.
      c[d] = place > 0 ? static_cast<Index>(std::min(place, static_cast<double>(last))) : 0;
    }
    return c;
  }
  std::size_t number_of(const Coord<3>& c) const {
    return static_cast<std::size_t>((c[0] * cells_[1] + c[1]) * cells_[2] + c[2]);
  }
  /// Cells that a box covers.
  double covered(const mesh::Box& b) const {
    const Coord<3> first = cell_of(b.low);
    const Coord<3> last = cell_of(b.high);
    double n = 1;
    for (std::size_t d = 0; d < 3; ++d) n *= static_cast<double>(last[d] - first[d] + 1);
    return n;
  }
  template <class F>
  void for_each_in(std::size_t cell, F&& f) const {
    for (Index i = begin_[cell]; i < begin_[cell] + count_[cell]; ++i) f(entries_[i]);
    for (std::int32_t l = late_head_[cell]; l >= 0; l = late_[l].next) f(late_[l].element);
  }
  void note_first_cell(std::int32_t element) {
    const Coord<3> c = cell_of(box(element).low);
    for (std::size_t d = 0; d < 3; ++d) first_cell_[element][d] = static_cast<std::int32_t>(c[d]);
  }
  template <class F>
  void for_each_cell(const mesh::Box& box, F&& f) const;
  void lay_out(const mesh::Box& region, double cell_size, Index max_cells);

  mesh::Box region_;
  double size_ = 1;
  Coord<3> cells_{1, 1, 1};
  std::vector<mesh::Box> boxes_;
  std::vector<std::uint8_t> present_;
  /// For each element, the cell of its lower corner.
  std::vector<std::array<std::int32_t, 3>> first_cell_;
  std::vector<std::int32_t> large_;
  /// Entries of cell c: [begin_[c], begin_[c] + count_[c]) of entries_, with room up to begin_[c + 1].
  std::vector<Index> begin_;
  std::vector<std::int32_t> count_;
  std::vector<std::int32_t> entries_;
  std::vector<std::int32_t> late_head_;
  std::vector<Late> late_;
  std::int32_t free_late_ = -1;
};

}  // namespace meniscus::collision
