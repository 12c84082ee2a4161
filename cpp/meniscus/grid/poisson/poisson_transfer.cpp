#include "meniscus/grid/poisson/poisson_transfer.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

#include <cstring>

namespace meniscus::grid {
namespace {

/// Coarse cells per run, so that scratch rows stay small.
constexpr Index run_length = 128;
constexpr Index runs_per_task = 64;
constexpr Index entries_per_task = 2048;

}  // namespace

template <int D>
void PoissonTransfer<D>::restrict_residual(const PoissonLevel<D>& from, PoissonLevel<D>& to) const {
  const float* residual = from.residual.data();
  float* b = to.b.data();
  const Coord<D> s = fine_.strides;
  parallel_for(0, static_cast<Index>(restrict_runs_.size()), runs_per_task, [&](Index begin, Index end) {
    const TransferRun* runs = restrict_runs_.data();
    simd_dispatch([=] {
      // Sums over the rows of the blocks, and over the rows next to them.
      float own[2 * run_length + 2], beside[2 * run_length + 2];
      for (const TransferRun* r = runs + begin; r != runs + end; ++r) {
        const Index n = 2 * r->count + 2;
        const float* f = residual + r->fine - 1;
        if constexpr (D == 3) {
          for (Index k = 0; k < n; ++k) {
            const float* p = f + k;
            own[k] = (p[0] + p[s[1]]) + (p[s[0]] + p[s[0] + s[1]]);
            beside[k] = ((p[-s[0]] + p[-s[0] + s[1]]) + (p[2 * s[0]] + p[2 * s[0] + s[1]])) +
                        ((p[-s[1]] + p[-s[1] + s[0]]) + (p[2 * s[1]] + p[2 * s[1] + s[0]]));
          }
          for (Index k = 0; k < r->count; ++k) {
            const Index l = 2 * k + 1;
            b[r->coarse + k] = 0.25f * (((own[l] + own[l + 1]) + (own[l - 1] + own[l + 2])) + (beside[l] + beside[l + 1]));
          }
        } else {
          for (Index k = 0; k < n; ++k) {
            const float* p = f + k;
            own[k] = p[0] + p[s[0]];
            beside[k] = p[-s[0]] + p[2 * s[0]];
          }
          for (Index k = 0; k < r->count; ++k) {
            const Index l = 2 * k + 1;
            b[r->coarse + k] = 0.5f * (own[l] + own[l + 1]) + 0.25f * ((own[l - 1] + own[l + 2]) + (beside[l] + beside[l + 1]));
          }
        }
      }
    });
  });
  parallel_for(0, static_cast<Index>(coarse_cells_.size()), entries_per_task / 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      float sum = 0;
      for (Index e = coarse_begin_[static_cast<std::size_t>(i)]; e < coarse_begin_[static_cast<std::size_t>(i) + 1]; ++e) {
        const TransferEntry& entry = coarse_entries_[static_cast<std::size_t>(e)];
        sum += entry.weight * residual[entry.cell];
      }
      b[coarse_cells_[static_cast<std::size_t>(i)]] = sum;
    }
  });
}

template <int D>
void PoissonTransfer<D>::add_correction(const PoissonLevel<D>& from, PoissonLevel<D>& to) const {
  const float* correction = from.x.data();
  float* x = to.x.data();
  const Coord<D> sf = fine_.strides, sc = coarse_.strides;
  parallel_for(0, static_cast<Index>(interpolate_runs_.size()), runs_per_task, [&](Index begin, Index end) {
    const TransferRun* runs = interpolate_runs_.data();
    simd_dispatch([=] {
      float spread[2 * run_length];
      for (const TransferRun* r = runs + begin; r != runs + end; ++r)
        for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
          const float* c = correction + r->coarse;
          float* f = x + r->fine;
          Index beside[D - 1];
          for (std::size_t d = 0; d + 1 < D; ++d) {
            const int upper = (rows >> d) & 1;
            beside[d] = upper ? sc[d] : -sc[d];
            f += upper * sf[d];
          }
          for (Index k = 0; k < r->count; ++k) {
            float sum = D == 3 ? c[k] : 2 * c[k];
            for (std::size_t d = 0; d + 1 < D; ++d) sum += c[k + beside[d]];
            spread[2 * k] = 0.25f * (sum + c[k - 1]);
            spread[2 * k + 1] = 0.25f * (sum + c[k + 1]);
          }
          for (Index k = 0; k < 2 * r->count; ++k) f[k] += spread[k];
        }
    });
  });
  parallel_for(0, static_cast<Index>(fine_cells_.size()), entries_per_task, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const TransferEntry* entry = fine_entries_.data() + i * sources;
      float sum = 0;
      for (Index e = 0; e < sources; ++e) sum += entry[e].weight * correction[entry[e].cell];
      x[fine_cells_[static_cast<std::size_t>(i)]] += sum;
    }
  });
  fine_.halo.exchange(x);
}

// --- building
// ---------------------------------------------------------------------------------------------------------------------

template <int D>
void PoissonTransfer<D>::build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining) {
  const BlockGeometry<D> geometry(fine.layout);
  fine_ = geometry.fine;
  coarse_ = geometry.coarse;
  sort_blocks(geometry, joining);
  list_interpolation(fine, geometry, joining);
  list_restriction(geometry);
}

template <int D>
void PoissonTransfer<D>::sort_blocks(const BlockGeometry<D>& geometry, const CellJoining<D>& joining) {
  if (regular_.size() != coarse_.size) {
    regular_ = Block<std::uint8_t>(coarse_.size);
    block_number_ = Block<std::int32_t>(coarse_.size);
  }
  std::memset(regular_.data(), 0, static_cast<std::size_t>(coarse_.size));
  const Index length = coarse_.cells[D - 1];
  const Index rows_per_task = std::max<Index>(1, 4096 / length);
  const auto for_each_block = [&](auto&& body) {
    parallel_for(0, coarse_.rows(), rows_per_task, [&](Index b, Index e) {
      for (Index r = b; r < e; ++r) {
        Coord<D> block = coarse_.row_coordinate(r);
        for (Index k = 0; k < length; ++k) {
          block[D - 1] = k;
          body(block, coarse_.row(r) + k);
        }
      }
    });
  };
  const bool all_halved = geometry.all_halved();
  for_each_block([&](const Coord<D>& block, Index i) {
    if (all_halved && joining.regular(geometry, block)) regular_[i] = 1;
  });
  // Residuals come together in the regular way where all blocks around are regular. Other blocks get a number.
  for_each_block([&](const Coord<D>&, Index i) {
    bool regular = regular_[i] != 0;
    for (std::size_t d = 0; d < D && regular; ++d)
      regular &= regular_[i - coarse_.strides[d]] != 0 && regular_[i + coarse_.strides[d]] != 0;
    block_number_[i] = regular;
  });
  interpolate_runs_.clear();
  restrict_runs_.clear();
  blocks_.clear();
  for (Index r = 0; r < coarse_.rows(); ++r) {
    Coord<D> block = coarse_.row_coordinate(r);
    const Index first = coarse_.row(r);
    const Index fine_first = geometry.fine.index(geometry.first(block));
    const auto extend = [&](std::vector<TransferRun>& runs, Index k) {
      if (!runs.empty() && runs.back().coarse + runs.back().count == first + k && runs.back().count < run_length && k > 0)
        ++runs.back().count;
      else
        runs.push_back({first + k, fine_first + 2 * k, 1});
    };
    for (Index k = 0; k < length; ++k) {
      const Index i = first + k;
      if (regular_[i]) extend(interpolate_runs_, k);
      if (block_number_[i]) {
        extend(restrict_runs_, k);
      } else {
        block[D - 1] = k;
        block_number_[i] = static_cast<std::int32_t>(blocks_.size());
        blocks_.push_back(block);
      }
    }
  }
}

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
    for (int e = 0; e <= D; ++e) entries[e] = {own, 0.0f};
    const std::uint8_t owner = owner_[cell];
    if (owner == CellJoining<D>::none) return;
    if (owner != CellJoining<D>::own_block) {
      const int code = owner - CellJoining<D>::attached(0, 0);
      Coord<D> other = block;
      geometry_.step(other, code / 2, code % 2);
      entries[0] = {geometry_.coarse.index(other), 1.0f};
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
    const Index s = fine_.layout.strides[static_cast<std::size_t>(d)];
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
      entry.cell = geometry_.coarse.index(next);
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
    const Coord<D>& block = blocks_[static_cast<std::size_t>(n)];
    const Index i = coarse_.index(block);
    Index cells = 0;
    if (!(regular_[i]))
      for (int c = 0; c < children; ++c) cells += listed(block, c) >= 0;
    block_begin_[static_cast<std::size_t>(n) + 1] = block_begin_[static_cast<std::size_t>(n)] + cells;
  }
  fine_cells_.resize(static_cast<std::size_t>(block_begin_.back()));
  fine_entries_.resize(fine_cells_.size() * static_cast<std::size_t>(sources));
  const Weights<D> weights(fine, geometry, joining);
  parallel_for(0, blocks, 128, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      Index k = block_begin_[static_cast<std::size_t>(n)];
      if (k == block_begin_[static_cast<std::size_t>(n) + 1]) continue;
      const Coord<D>& block = blocks_[static_cast<std::size_t>(n)];
      for (int c = 0; c < children; ++c) {
        const Index i = listed(block, c);
        if (i < 0) continue;
        fine_cells_[static_cast<std::size_t>(k)] = i;
        weights.find(block, c, i, fine_entries_.data() + k * sources);
        ++k;
      }
    }
  });
}

template <int D>
void PoissonTransfer<D>::list_restriction(const BlockGeometry<D>& geometry) {
  constexpr int children = BlockGeometry<D>::children;
  const Index blocks = static_cast<Index>(blocks_.size());
  // Calls add(cell, weight) for all fine cells that take from a coarse cell.
  const auto contributions = [&](const Coord<D>& block, auto&& add) {
    const Index own = coarse_.index(block);
    const auto from_block = [&](const Coord<D>& source, int axis, int side) {
      const Index i = coarse_.index(source);
      if (regular_[i]) {
        for (int c = 0; c < children; ++c) {
          if (axis < 0)
            add(geometry.child(source, c), 1 - 0.25f * D);
          else if (((c >> axis) & 1) != side)
            add(geometry.child(source, c), 0.25f);
        }
      } else {
        const auto n = static_cast<std::size_t>(block_number_[i]);
        for (Index k = block_begin_[n]; k < block_begin_[n + 1]; ++k)
          for (Index e = 0; e < sources; ++e) {
            const TransferEntry& entry = fine_entries_[static_cast<std::size_t>(k * sources + e)];
            if (entry.cell == own && entry.weight != 0) add(fine_cells_[static_cast<std::size_t>(k)], entry.weight);
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
  coarse_cells_.resize(blocks_.size());
  coarse_begin_.resize(blocks_.size() + 1);
  parallel_for(0, blocks, 64, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      const Coord<D>& block = blocks_[static_cast<std::size_t>(n)];
      coarse_cells_[static_cast<std::size_t>(n)] = coarse_.index(block);
      Index count = 0;
      contributions(block, [&](Index, float) { ++count; });
      coarse_begin_[static_cast<std::size_t>(n) + 1] = count;
    }
  });
  coarse_begin_[0] = 0;
  for (std::size_t n = 0; n < blocks_.size(); ++n) coarse_begin_[n + 1] += coarse_begin_[n];
  coarse_entries_.resize(static_cast<std::size_t>(coarse_begin_.back()));
  parallel_for(0, blocks, 64, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      auto k = static_cast<std::size_t>(coarse_begin_[static_cast<std::size_t>(n)]);
      contributions(blocks_[static_cast<std::size_t>(n)],
                    [&](Index cell, float weight) { coarse_entries_[k++] = {cell, weight}; });
    }
  });
}

template <int D>
Index PoissonTransfer<D>::bytes() const {
  const std::size_t listed =
      (fine_cells_.size() + coarse_cells_.size() + coarse_begin_.size() + block_begin_.size()) * sizeof(Index) +
      (fine_entries_.size() + coarse_entries_.size()) * sizeof(TransferEntry) +
      (interpolate_runs_.size() + restrict_runs_.size()) * sizeof(TransferRun) + blocks_.size() * sizeof(Coord<D>);
  return static_cast<Index>(listed) + regular_.size() + block_number_.size() * 4;
}

template class PoissonTransfer<2>;
template class PoissonTransfer<3>;

}  // namespace meniscus::grid
