/// Symmetric matrix of 3 x 3 blocks with the sparsity of a mesh of N-node elements. It can be filled again without search or
/// allocation, and multiplied.
///
/// Each row is filled by its own node, from the elements around it in a fixed order. So no two threads write to the same place,
/// and the result does not depend on the number of threads.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/solids/elements/element_gather.hpp"
#include "meniscus/solids/force.hpp"

namespace meniscus::solids {

class BlockStiffness {
 public:
  /// Block in the layout of SciPy's BSR format.
  using Block = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

  BlockStiffness() = default;
  template <int N>
  BlockStiffness(std::span<const std::array<std::int32_t, static_cast<std::size_t>(N)>> elements, const ElementGather<N>& gather);

  Index nodes() const { return std::max<Index>(static_cast<Index>(row_start_.size()) - 1, 0); }
  std::span<const std::int32_t> row_start() const { return row_start_; }
  std::span<const std::int32_t> columns() const { return column_; }
  std::span<const Block> blocks() const { return block_; }

  /// Sums up element stiffness: `add_row(element, a, row, place)` adds the blocks between the corners a and b = 0, 1, ... of an
  /// element to row[place[b]]. `gather` as at construction. The sum begins with what `keep` has kept, or with 0.
  template <int N, class AddRow>
  void fill(const ElementGather<N>& gather, bool onto_kept, AddRow&& add_row) {
    parallel_for(0, gather.nodes(), 128, [&](Index begin, Index end) {
      auto kernel = [&] {
        for (Index i = begin; i < end; ++i) {
          Block* const row = block_.data() + row_start_[i];
          const auto first = static_cast<std::size_t>(row_start_[i]),
                     last = static_cast<std::size_t>(row_start_[static_cast<std::size_t>(i) + 1]);
          if (onto_kept)
            std::copy(kept_.begin() + static_cast<std::ptrdiff_t>(first), kept_.begin() + static_cast<std::ptrdiff_t>(last), row);
          else
            std::fill(row, row + (last - first), Block::Zero());
          const auto corners = gather.at(i);
          if (corners.empty()) continue;
          const std::uint16_t* place = place_.data() + N * gather.first(i);
          for (const std::int32_t corner : corners) {
            add_row(Index{corner / N}, corner % N, row, place);
            place += N;
          }
        }
      };
      simd_dispatch(kernel);
    });
  }

  /// Keeps factor times the present matrix beside it, A0. The first time allocates.
  void keep(double factor);

  /// y += scale A x, or scale A0 x.
  void multiply(std::span<const mesh::Point> x, double scale, std::span<mesh::Point> y) const { multiply(block_, x, scale, y); }
  void multiply_kept(std::span<const mesh::Point> x, double scale, std::span<mesh::Point> y) const {
    multiply(kept_, x, scale, y);
  }

  /// blocks[i] += scale A_ii, or scale A0_ii.
  void add_diagonal(double scale, std::span<Block3> blocks) const { add_diagonal(block_, scale, blocks); }
  void add_kept_diagonal(double scale, std::span<Block3> blocks) const { add_diagonal(kept_, scale, blocks); }

  std::size_t nbytes() const {
    return (row_start_.capacity() + column_.capacity()) * sizeof(std::int32_t) + place_.capacity() * sizeof(std::uint16_t) +
           (block_.capacity() + kept_.capacity()) * sizeof(Block);
  }

 private:
  void multiply(std::span<const Block> blocks, std::span<const mesh::Point> x, double scale, std::span<mesh::Point> y) const;
  void add_diagonal(std::span<const Block> of, double scale, std::span<Block3> blocks) const;

  std::vector<std::int32_t> row_start_;
  std::vector<std::int32_t> column_;
  /// Position in its row of each block of each corner, in the order in which the corners are visited.
  std::vector<std::uint16_t> place_;
  std::vector<Block> block_, kept_;
};

}  // namespace meniscus::solids
