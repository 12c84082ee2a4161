// Transfers between levels where cells are not joined in the regular way: lists of weights.
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/poisson_transfer.hpp"

namespace meniscus::grid {
namespace {

/// Sources of the correction of one fine cell.
template <int D>
class Weights {
 public:
  Weights(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry, const CellJoining<D>& joining)
      : fine_(fine), geometry_(geometry), owner_(joining.owner) {}

  /// Fills D + 1 entries for the child `bits` of a block, whose index is `cell`.
  void find(const Coord<D>& block, int bits, Index cell, TransferEntry* entries) const {
    const Index own = geometry_.coarse.index(block);
    for (int e = 0; e <= D; ++e) entries[e] = {static_cast<std::uint32_t>(own), 0.0f};
    const std::uint8_t owner = owner_[cell];
    if (owner == CellJoining<D>::none) return;
    if (owner != CellJoining<D>::own_block) {
      const int code = owner - CellJoining<D>::attached(0, 0);
      Coord<D> other = block;
      geometry_.step(other, code / 2, code % 2);
      entries[0] = {static_cast<std::uint32_t>(geometry_.coarse.index(other)), 1.0f};
      return;
    }
    float others = 0;
    for (int d = 0; d < D; ++d) others += outward(block, bits, cell, d, entries[d + 1]);
    // Strongly varying coefficients could ask for more than there is.
    const float most = 0.9f;
    if (others > most)
      for (int e = 1; e <= D; ++e) entries[e].weight *= most / others;
    entries[0].weight = 1 - std::min(others, most);
  }

 private:
  /// The weight of the next coarse cell (or of the zero at a Dirichlet condition) along an axis.
  float outward(const Coord<D>& block, int bits, Index cell, int d, TransferEntry& entry) const {
    const int side = (bits >> d) & 1;
    const Index s = fine_.layout.strides[d];
    const Index sibling = geometry_.child(block, bits ^ (1 << d));
    if (sibling < 0 || owner_[sibling] != CellJoining<D>::own_block) return 0;
    const float inner = fine_.face(d, side ? cell : cell + s);
    if (inner <= 0) return 0;
    const float outer = fine_.face(d, side ? cell + s : cell);
    Coord<D> next = block;
    const bool exists = geometry_.step(next, d, side);
    const Index beyond = exists ? geometry_.child(next, bits ^ (1 << d)) : -1;
    const Index neighbour = beyond >= 0 ? beyond : exists ? geometry_.child(next, bits & ~(1 << d)) : -1;
    if (neighbour >= 0 && fine_.active[neighbour]) {
      if (outer <= 0 || owner_[neighbour] != CellJoining<D>::own_block) return 0;
      float far = 0;
      const Index last = geometry_.child(next, (bits & ~(1 << d)) | (side << d));
      if (last >= 0 && last != neighbour && owner_[last] == CellJoining<D>::own_block) {
        const float w = fine_.face(d, side ? last : neighbour);
        if (w > 0) far = 0.5f / w;
      }
      entry.cell = static_cast<std::uint32_t>(geometry_.coarse.index(next));
      entry.weight = (0.5f / inner) / (0.5f / inner + 1 / outer + far);
      return entry.weight;
    }
    const float fixed = dirichlet_coupling<float, D>(fine_, cell);
    return fixed > 0 ? (0.5f / inner) / (0.5f / inner + 1 / fixed) : 0.0f;
  }

  const FaceMatrix<float, D>& fine_;
  const BlockGeometry<D>& geometry_;
  const Block<std::uint8_t>& owner_;
};

}  // namespace

template <int D>
void PoissonTransfer<D>::list_interpolation(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry,
                                            const CellJoining<D>& joining) {
  const Index blocks = static_cast<Index>(blocks_.size());
  block_begin_.resize(static_cast<std::size_t>(blocks) + 1);
  constexpr int children = BlockGeometry<D>::children;
  const auto listed = [&](const Coord<D>& block, int c) -> Index {
    const Index i = geometry.child(block, c);
    return i >= 0 && joining.owner[i] != CellJoining<D>::none ? i : -1;
  };
  block_begin_[0] = 0;
  for (Index n = 0; n < blocks; ++n) {
    const Coord<D>& block = blocks_[n];
    const Index i = coarse_.index(block);
    Index cells = 0;
    if (!(regular_[i]))
      for (int c = 0; c < children; ++c) cells += listed(block, c) >= 0;
    block_begin_[static_cast<std::size_t>(n) + 1] = block_begin_[n] + cells;
  }
  fine_cells_.resize(block_begin_.back());
  fine_entries_.resize(fine_cells_.size() * static_cast<std::size_t>(sources));
  const Weights<D> weights(fine, geometry, joining);
  parallel_for(0, blocks, 128, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      Index k = block_begin_[n];
      if (k == block_begin_[static_cast<std::size_t>(n) + 1]) continue;
      const Coord<D>& block = blocks_[n];
      for (int c = 0; c < children; ++c) {
        const Index i = listed(block, c);
        if (i < 0) continue;
        fine_cells_[k] = static_cast<std::uint32_t>(i);
        weights.find(block, c, i, fine_entries_.data() + k * sources);
        ++k;
      }
    }
  });
}

template <int D>
void PoissonTransfer<D>::list_restriction(const BlockGeometry<D>& geometry) {
  constexpr int children = BlockGeometry<D>::children;
  // Calls add(cell, weight) for all fine cells that take from a coarse cell.
  const auto contributions = [&](const Coord<D>& block, auto&& add) {
    const Index own = coarse_.index(block);
    const auto from_block = [&](const Coord<D>& source, int axis, int side) {
      const Index i = coarse_.index(source);
      if (regular_[i]) {
        for (int c = 0; c < children; ++c) {
          if (axis < 0) {
            float weight = 1 - 0.25f * D;
            for (int d = 0; d < D; ++d) weight += 0.25f * mirror_of(source, d, (c >> d) & 1);
            add(geometry.child(source, c), weight);
          } else if (((c >> axis) & 1) != side)
            add(geometry.child(source, c), 0.25f);
        }
      } else if (block_number_[i] >= 0) {
        const Index n = block_number_[i];
        for (Index k = block_begin_[n]; k < block_begin_[n + 1]; ++k)
          for (Index e = 0; e < sources; ++e) {
            const TransferEntry& entry = fine_entries_[k * sources + e];
            if (static_cast<Index>(entry.cell) == own && entry.weight != 0) add(fine_cells_[k], entry.weight);
          }
      }
    };
    from_block(block, -1, 0);
    for (int d = 0; d < D; ++d) {
      Coord<D> lower = block, upper = block;
      const bool has_lower = geometry.step(lower, d, 0), has_upper = geometry.step(upper, d, 1);
      if (has_lower && lower != block) from_block(lower, d, 0);
      if (has_upper && upper != block && upper != lower) from_block(upper, d, 1);
    }
  };
  const Index blocks = gathering_blocks_;
  coarse_cells_.resize(blocks);
  coarse_begin_.resize(static_cast<std::size_t>(blocks) + 1);
  parallel_for(0, blocks, 64, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      const Coord<D>& block = blocks_[n];
      coarse_cells_[n] = static_cast<std::uint32_t>(coarse_.index(block));
      Index count = 0;
      contributions(block, [&](Index, float) { ++count; });
      coarse_begin_[static_cast<std::size_t>(n) + 1] = count;
    }
  });
  coarse_begin_[0] = 0;
  for (std::size_t n = 0; n < coarse_cells_.size(); ++n) coarse_begin_[n + 1] += coarse_begin_[n];
  coarse_entries_.resize(coarse_begin_.back());
  parallel_for(0, blocks, 64, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      auto k = static_cast<std::size_t>(coarse_begin_[n]);
      contributions(blocks_[n],
                    [&](Index cell, float weight) { coarse_entries_[k++] = {static_cast<std::uint32_t>(cell), weight}; });
    }
  });
}

#define MENISCUS_INSTANTIATE(D)                                                                              \
  template void PoissonTransfer<D>::list_interpolation(const FaceMatrix<float, D>&, const BlockGeometry<D>&, \
                                                       const CellJoining<D>&);                               \
  template void PoissonTransfer<D>::list_restriction(const BlockGeometry<D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
