/// Spatial hash: an unbounded uniform grid whose cells share a table of buckets, for boxes near a point or a box.
///
/// Boxes much larger than a cell are stored in coarser grids, whose cells double in size from level to level. A box covers at
/// most two cells along each axis of its level (three where round-off meets the size of a cell). Different cells may share a
/// bucket; this costs time but does not change the result.
///
/// The table is built like a counting sort (cells are counted, added up and filled in), in parallel, and keeps its memory.
///
/// Source: Müller, Stam, James and Thürey, "Real time physics", 2008, section 3.7; Teschner, Heidelberger, Müller, Pomerantes and
/// Gross, "Optimized spatial hashing for collision detection of deformable objects", 2003.
#pragma once

#include "meniscus/mesh/search/box.hpp"

#include <cmath>
#include <vector>

namespace meniscus::collision {

/// Hash function of the coordinates of a cell.
enum class CellHash : std::int8_t {
  /// The constants of the notes, one for each coordinate.
  corrected,
  /// As printed in the notes: all three constants
  /// multiply the first coordinate, so that the
  /// hash depends on this coordinate only.
  printed,
  /// The constants of Teschner et al. 2003.
  teschner,
};

/// Modulo 2^32, for negative coordinates, too.
inline std::uint32_t hash_of_cell(const Coord<3>& cell, CellHash hash) {
  const auto x = static_cast<std::uint32_t>(cell[0]);
  const auto y = static_cast<std::uint32_t>(cell[1]);
  const auto z = static_cast<std::uint32_t>(cell[2]);
  switch (hash) {
    case CellHash::printed:
      return x * 92837111U ^ x * 689287499U ^ x * 283923481U;
    case CellHash::teschner:
      return x * 73856093U ^ y * 19349663U ^ z * 83492791U;
    case CellHash::corrected:
      break;
  }
  return x * 92837111U ^ y * 689287499U ^ z * 283923481U;
}

class SpatialHash {
 public:
  /// Sorts boxes into cells. Boxes with low > high are left out. `cell_size` 0 takes the mean of the boxes' largest sides.
  void build(std::span<const mesh::Box> boxes, double cell_size, CellHash hash);

  /// Calls f(item) once for every box that contains p (closed), in an arbitrary but always equal order.
  template <class F>
  void containing(const mesh::Point& p, F&& f) const {
    for (const int level : levels_) {
      const auto [first, end] = bucket(cell_of(p, level), level);
      for (Index e = first; e < end; ++e) {
        const std::int32_t item = entries_[e];
        if (level_of(item) != level) continue;
        const mesh::Box& b = boxes_[item];
        if ((b.low.array() <= p.array()).all() && (p.array() <= b.high.array()).all()) f(item);
      }
    }
  }

  /// Calls f(j) for boxes j that overlap box i (closed), such that all calls for all i give every pair once: boxes on i's own
  /// level only if j > i, and boxes on coarser levels.
  template <class F>
  void overlapping(std::int32_t i, F&& f) const {
    const mesh::Box& box = boxes_[i];
    if (!(box.low.array() <= box.high.array()).all()) return;
    for (const int level : levels_) {
      if (level < level_of(i)) continue;
      const Coord<3> low = cell_of(box.low, level);
      for_cells(low, cell_of(box.high, level), [&](const Coord<3>& cell) {
        const auto [first, end] = bucket(cell, level);
        for (Index e = first; e < end; ++e) {
          const std::int32_t j = entries_[e];
          if (level_of(j) != level || (level == level_of(i) && j <= i)) continue;
          const mesh::Box& other = boxes_[j];
          if (!box.overlaps(other)) continue;
          // Only the lowest of the cells that both cover reports the pair.
          const Coord<3> other_low = cell_of(other.low, level);
          bool first_common = true;
          for (std::size_t d = 0; d < 3; ++d) first_common = first_common && cell[d] == std::max(low[d], other_low[d]);
          if (first_common) f(j);
        }
      });
    }
  }

  double cell_size() const { return cell_size_; }

 private:
  struct Range {
    Index first, end;
  };

  int level_of(std::int32_t item) const { return level_[item]; }
  /// Monotone in x, also with round-off, so that a point in a box is in one of its cells; the outermost cells are unbounded.
  Coord<3> cell_of(const mesh::Point& x, int level) const {
    const double inverse = std::ldexp(inverse_, -level);
    Coord<3> c;
    for (std::size_t d = 0; d < 3; ++d)
      c[d] = static_cast<Index>(std::floor(std::clamp(x[static_cast<Index>(d)] * inverse, -0x1p52, 0x1p52)));
    return c;
  }
  std::size_t bucket_of(const Coord<3>& cell, int level) const {
    return (hash_of_cell(cell, hash_) + static_cast<std::uint32_t>(level) * 0x9e3779b1U) & mask_;
  }
  Range bucket(const Coord<3>& cell, int level) const {
    const std::size_t b = bucket_of(cell, level);
    return {start_[b], end_[b]};
  }
  template <class F>
  static void for_cells(const Coord<3>& low, const Coord<3>& high, F&& f) {
    for (Index i = low[0]; i <= high[0]; ++i)
      for (Index j = low[1]; j <= high[1]; ++j)
        for (Index k = low[2]; k <= high[2]; ++k) f(Coord<3>{i, j, k});
  }
  void choose_levels(double cell_size);
  void sort_into_buckets();

  CellHash hash_ = CellHash::corrected;
  double cell_size_ = 1;
  double inverse_ = 1;
  std::uint64_t mask_ = 0;
  std::vector<mesh::Box> boxes_;
  std::vector<std::int16_t> level_;
  /// Those in use, ascending.
  std::vector<int> levels_;
  std::vector<std::uint8_t> level_used_;
  /// Entries of bucket b: positions [start_[b], end_[b]) of `entries_`, ascending and each once.
  std::vector<Index> start_, end_;
  std::vector<std::int32_t> entries_;
};

}  // namespace meniscus::collision
