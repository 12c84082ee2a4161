/// The cubes between the centres of cells, or between these and a side of the domain, and the liquid in them.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/surface/extraction/sign_bits.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <optional>

namespace meniscus::surface {

/// `lattice`: of a level set on cells. The level set of the solid is on nodes, with ghosts up to date; null: there is none. Both
/// must live as long.
template <class T, int D>
class OpenCubes {
 public:
  OpenCubes(const LevelSetLattice<T, D>& lattice, const grid::Field<double, D>* solid, Workspace& workspace) : lattice_(lattice) {
    if (!solid) return;
    nodes_ = solid->view();
    const LevelSetLattice<double, D> nodes(*solid, workspace);
    signs_.emplace(*solid, nodes, workspace);
  }

  bool has_solid() const { return signs_.has_value(); }

  /// The cubes of word w in the row of the lattice that begins at `first` that have cells which are not all open.
  std::uint64_t reached(const Coord<D>& first, Index w) const {
    std::uint64_t bits = 0;
    if (!has_solid()) return bits;
    bool beside = false;  // another block, some of whose nodes are not among the signs
    for (int d = 0; d < D - 1; ++d) beside |= needs_other_block(d, first[d]);
    if (beside) {
      for (Index k = 64 * w; k < std::min(64 * w + 64, signs_->extents()[D - 1]); ++k)
        bits |= std::uint64_t{reaches(first, k)} << (k & 63);
      return bits;
    }
    for (int q = 0; q < (D == 2 ? 3 : 9); ++q) {
      Index row = 0;
      for (int d = 0, rest = q; d < D - 1; ++d, rest /= 3)
        row += std::clamp<Index>(first[d] - 1 + rest % 3, 0, signs_->extents()[d] - 1) * signs_->stride(d);
      const std::uint64_t own = word(row, w), before = w > 0 ? word(row, w - 1) : 0, after = word(row, w + 1);
      bits |= own << 1 | before >> 63 | own | (own >> 1 | after << 63);
    }
    const Index last = signs_->extents()[D - 1] - 1;
    if (last / 64 == w && needs_other_block(D - 1, last)) bits |= std::uint64_t{reaches(first, last)} << (last & 63);
    return bits;
  }

  /// Cells of word w of the row of cells that begins at `first` that the solid cuts.
  std::uint64_t cut(const Coord<D>& first, Index w) const {
    if (!has_solid()) return 0;
    std::uint64_t any = 0, all = ~std::uint64_t{0};
    for (int q = 0; q < 1 << (D - 1); ++q) {
      Index row = 0;
      for (int d = 0; d < D - 1; ++d) row += (first[d] + (q >> d & 1)) * signs_->stride(d);
      const std::uint64_t own = word(row, w), next = own >> 1 | word(row, w + 1) << 63;
      any |= own | next;
      all &= own & next;
    }
    return any & ~all & signs_->has_next(w);
  }

  /// Lets samples in cells whose centre is in the solid count as not inside of the level set.
  void close(SignBits<D>& signs) const {
    if (!has_solid()) return;
    parallel_for(0, signs.rows(), rows_per_piece(signs), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> first = lattice_row<D>(signs.extents(), r);
        bool own = true;
        for (int d = 0; d < D - 1; ++d) {
          const Index a = d;
          own &= first[a] >= lattice_.first(d) && first[a] < lattice_.end(d);
        }
        if (!own) continue;
        for (Index w = 0; w < signs.words(); ++w) {
          std::uint64_t closed = 0;
          for_each_bit(signs.word(r, w) & reached(first, w), [&](int bit) {
            Coord<D> cell = first;
            cell[D - 1] = 64 * w + bit;
            if (cell[D - 1] < lattice_.first(D - 1) || cell[D - 1] >= lattice_.end(D - 1)) return;
            for (Index& i : cell) --i;
            if (grid::corner_mean<D>(nodes_.at(cell), nodes_.strides) < 0) closed |= std::uint64_t{1} << bit;
          });
          signs.clear(r, w, closed);
        }
      }
    });
  }

  const grid::FieldView<const double, D>& nodes() const { return nodes_; }
  /// Corners of a cell in the level set of the solid.
  std::array<double, 1 << D> corners(const Coord<D>& cell) const { return corner_values<D>(nodes_.at(cell), nodes_.strides); }

  /// Calls take(sample, part) for the octants of the cube whose lowest sample is `cube`: the sample of the lattice in whose cell
  /// an octant lies, and its liquid, in cells.
  template <class Take>
  void visit_octants(const Coord<D>& cube, Take&& take) const {
    const std::array<double, 1 << D> value = lattice_.corners(cube);
    bool any = false;
    for (const double v : value) any |= v <= 0;
    if (!any) return;
    for (std::uint32_t s = 0; s < value.size(); ++s) {
      Coord<D> sample = cube;
      bool inside = true;
      for (std::uint32_t d = 0; d < D; ++d) {
        sample[d] += (s >> d) & 1u;
        inside &= lattice_.is_sample(static_cast<int>(d), sample[d]);
      }
      if (inside)
        if (const double part = octant(cube, value, s); part > 0) take(sample, part);
    }
  }

  /// The liquid in a cell of the block, in cells.
  double liquid_in(const Coord<D>& cell) const {
    double sum = 0;
    for (std::uint32_t lower = 0; lower < 1u << D; ++lower) {
      Coord<D> cube = cell;
      for (std::uint32_t d = 0; d < D; ++d) cube[d] += (lower >> d) & 1u ? 0 : 1;
      const std::array<double, 1 << D> value = lattice_.corners(cube);
      bool any = false;
      for (const double v : value) any |= v <= 0;
      if (any) sum += octant(cube, value, lower);
    }
    return sum;
  }

 private:
  /// Whether the cube from sample i along an axis has nodes of the block above.
  bool needs_other_block(int d, Index i) const {
    const Index a = d;
    return i + 1 >= signs_->extents()[a] && !lattice_.at_upper(d, i + 1);
  }
  /// Whether a node of the cells of the cube from sample k of a row is in the solid.
  bool reaches(Coord<D> cube, Index k) const {
    cube[D - 1] = k;
    for (int q = 0; q < grid::block_cells<D>; ++q) {
      Coord<D> node = grid::block_offset<D>(q);
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        node[a] = std::clamp<Index>(cube[a] + node[a], 0, signs_->extents()[a] - (needs_other_block(d, cube[a]) ? 0 : 1));
      }
      if (!(*nodes_.at(node) > 0)) return true;
    }
    return false;
  }
  std::uint64_t word(Index row, Index w) const { return w < signs_->words() ? signs_->word(row, w) : 0; }

  /// The octant at corner s of a cube with these values at its corners.
  double octant(const Coord<D>& cube, const std::array<double, 1 << D>& value, std::uint32_t s) const {
    Coord<D> cell;
    bool all_wet = true;
    for (const double v : value) all_wet &= v <= 0;
    for (std::uint32_t d = 0; d < D; ++d) cell[d] = cube[d] - 1 + ((s >> d) & 1u);
    std::array<double, 1 << D> corner{};
    if (has_solid()) corner = corners(cell);
    bool open = true, closed = has_solid();
    for (const double v : corner) {
      open &= v > 0;
      closed &= !(v > 0);
    }
    open |= !has_solid();
    constexpr double whole = 1.0 / (1 << D);
    if (closed) return 0;
    if (open && all_wet) return whole;
    if (all_wet) return whole * (1 - solid_in_octant<D>(corner, ~s).part());
    std::array<double, D> at, width;
    for (std::uint32_t d = 0; d < D; ++d) {
      // Beside a side of the domain the samples are as far apart as the octant is wide.
      const bool half = lattice_.step_in_cells(static_cast<int>(d), cube[d]) < 1;
      at[d] = half ? 0.5 : (s >> d) & 1u ? 0.75 : 0.25;
      width[d] = half ? 1.0 : 0.5;
    }
    const BoxPlane<D> liquid = tangent_plane<D>(value, at, width);
    return whole * (open ? liquid.part() : part_outside<D>(liquid, solid_in_octant<D>(corner, ~s)));
  }

  const LevelSetLattice<T, D>& lattice_;
  grid::FieldView<const double, D> nodes_;
  std::optional<SignBits<D>> signs_;
};

}  // namespace meniscus::surface
