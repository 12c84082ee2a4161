#include "meniscus/solids/elements/block_stiffness.hpp"

#include "meniscus/numerics/lane_pack.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

template <int N>
BlockStiffness::BlockStiffness(std::span<const std::array<std::int32_t, static_cast<std::size_t>(N)>> elements,
                               const ElementGather<N>& gather) {
  const auto nodes = static_cast<std::size_t>(gather.nodes());
  row_start_.assign(nodes + 1, 0);
  place_.resize(elements.size() * static_cast<std::size_t>(N * N));
  std::vector<std::int32_t> row;  // columns of the row, ascending
  for (std::size_t i = 0; i < nodes; ++i) {
    row.clear();
    const auto corners = gather.at(static_cast<Index>(i));
    for (const std::int32_t corner : corners)
      for (const std::int32_t other : elements[corner / N]) row.push_back(other);
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    // Limits of the 16-bit positions in `place_` and of the signed 32-bit ones in `row_start_`.
    require(row.size() < 65536, "node ", i, " has ", row.size(), " neighbours");
    require(column_.size() + row.size() < 2147483648, "the stiffness matrix has too many blocks");
    std::uint16_t* place =
        place_.data() + static_cast<std::size_t>(N) * static_cast<std::size_t>(gather.first(static_cast<Index>(i)));
    for (const std::int32_t corner : corners)
      for (const std::int32_t other : elements[corner / N])
        *place++ = static_cast<std::uint16_t>(std::lower_bound(row.begin(), row.end(), other) - row.begin());
    column_.insert(column_.end(), row.begin(), row.end());
    row_start_[i + 1] = static_cast<std::int32_t>(column_.size());
  }
  column_.shrink_to_fit();
  block_.assign(column_.size(), Block::Zero());
}

void BlockStiffness::keep(double factor) {
  kept_.resize(block_.size());
  parallel_for(0, static_cast<Index>(block_.size()), 4096, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) kept_[k] = factor * block_[k];
  });
}

void BlockStiffness::multiply(std::span<const Block> blocks, std::span<const mesh::Point> x, double scale,
                              std::span<mesh::Point> y) const {
  parallel_for(0, nodes(), 512, [&](Index begin, Index end) {
    auto kernel = [&] {
      for (Index i = begin; i < end; ++i) {
        Pack sum = splat(0.0);
        double last = 0;
        for (Index k = row_start_[i]; k < row_start_[i + 1]; ++k) {
          const double* const b = blocks[k].data();
          const double* const u = x[column_[k]].data();
          const Pack v{u[0], u[1], u[2], u[0], u[1], u[2], u[0], u[1]};
          sum += load_pack(b) * v;
          last += b[8] * u[2];
        }
        y[i] += scale * mesh::Point((sum[0] + sum[1]) + sum[2], (sum[3] + sum[4]) + sum[5], (sum[6] + sum[7]) + last);
      }
    };
    simd_dispatch(kernel);
  });
}

void BlockStiffness::add_diagonal(std::span<const Block> of, double scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto first = column_.begin() + row_start_[i], last = column_.begin() + row_start_[i + 1];
      const auto found = std::lower_bound(first, last, static_cast<std::int32_t>(i));
      if (found != last) blocks[i] += scale * of[found - column_.begin()];
    }
  });
}

template BlockStiffness::BlockStiffness(std::span<const std::array<std::int32_t, 3>>, const ElementGather<3>&);
template BlockStiffness::BlockStiffness(std::span<const std::array<std::int32_t, 4>>, const ElementGather<4>&);
template BlockStiffness::BlockStiffness(std::span<const std::array<std::int32_t, 10>>, const ElementGather<10>&);

}  // namespace meniscus::solids
