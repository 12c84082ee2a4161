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
void PoissonTransfer<D>::restrict_residual(PoissonLevel<D>& fine, float* b) const {
  fine_.halo.exchange(fine.residual.data());
  const float* residual = fine.residual.data();
  const Coord<D> s = fine_.strides;
  parallel_for(0, static_cast<Index>(restrict_runs_.size()), runs_per_task, [&](Index begin, Index end) {
    const TransferRun* runs = restrict_runs_.data();
    simd_dispatch([=] {
      // Sums over the rows of the blocks, and over the rows next to them.
      float own[2 * run_length + cell_block], beside[2 * run_length + cell_block];
      for (const TransferRun* r = runs + begin; r != runs + end; ++r) {
        // The padding between rows has room for loops over whole vectors.
        const Index n = (2 * r->count + 2 + cell_block - 1) / cell_block * cell_block;
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
  restrict_mirrors(residual, b);
  parallel_for(0, static_cast<Index>(coarse_cells_.size()), entries_per_task / 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      float sum = 0;
      for (Index e = coarse_begin_[i]; e < coarse_begin_[static_cast<std::size_t>(i) + 1]; ++e) {
        const TransferEntry& entry = coarse_entries_[e];
        sum += entry.weight * residual[entry.cell];
      }
      b[coarse_cells_[i]] = sum;
    }
  });
}

template <int D>
void PoissonTransfer<D>::add_correction(float* correction, PoissonLevel<D>& fine) const {
  mirror(correction);
  float* x = fine.x.data();
  const Coord<D> sf = fine_.strides, sc = coarse_.strides;
  parallel_for(0, static_cast<Index>(interpolate_runs_.size()), runs_per_task, [&](Index begin, Index end) {
    const TransferRun* runs = interpolate_runs_.data();
    simd_dispatch([=] {
      float spread[2 * run_length + 2 * cell_block];
      for (const TransferRun* r = runs + begin; r != runs + end; ++r) {
        const Index whole = (r->count + cell_block - 1) / cell_block * cell_block;
        for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
          const float* c = correction + r->coarse;
          float* f = x + r->fine;
          Index beside[D - 1];
          for (std::size_t d = 0; d + 1 < D; ++d) {
            const int upper = (rows >> d) & 1;
            beside[d] = upper ? sc[d] : -sc[d];
            f += upper * sf[d];
          }
          for (Index k = 0; k < whole; ++k) {
            float sum = D == 3 ? c[k] : 2 * c[k];
            for (std::size_t d = 0; d + 1 < D; ++d) sum += c[k + beside[d]];
            spread[2 * k] = 0.25f * (sum + c[k - 1]);
            spread[2 * k + 1] = 0.25f * (sum + c[k + 1]);
          }
          for (Index k = 0; k < 2 * r->count; ++k) f[k] += spread[k];
        }
      }
    });
  });
  parallel_for(0, static_cast<Index>(fine_cells_.size()), entries_per_task, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const TransferEntry* entry = fine_entries_.data() + i * sources;
      float sum = 0;
      for (Index e = 0; e < sources; ++e) sum += entry[e].weight * correction[entry[e].cell];
      x[fine_cells_[i]] += sum;
    }
  });
  clear_mirrors(correction);
  fine_.halo.exchange(x);
}

// --- building
// ---------------------------------------------------------------------------------------------------------------------

template <int D>
void PoissonTransfer<D>::build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining) {
  RowChanges<D> all;
  all.mark_all(BlockGeometry<D>(fine.layout).coarse);
  build(fine, joining, all);
}

template <int D>
void PoissonTransfer<D>::build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining, const RowChanges<D>& changed,
                               const TransferBoxes<D>* boxes) {
  const BlockGeometry<D> geometry(fine.layout);
  const parallel::IndexBox<D> all{{}, geometry.coarse.cells};
  const TransferBoxes<D> chosen = boxes ? *boxes : TransferBoxes<D>{all, all};
  fine_ = geometry.fine;
  coarse_ = geometry.coarse;
  sort_blocks(fine, geometry, joining, changed);
  list_runs(geometry, joining, chosen);
  list_interpolation(fine, geometry, joining);
  list_restriction(geometry);
}

template <int D>
void PoissonTransfer<D>::sort_blocks(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry,
                                     const CellJoining<D>& joining, const RowChanges<D>& changed) {
  around_ = changed;
  if (regular_.size() != coarse_.size) {
    regular_ = Block<std::uint8_t>(coarse_.size);
    gathers_ = Block<std::uint8_t>(coarse_.size);
    block_number_ = Block<std::int32_t>(coarse_.size);
    std::memset(regular_.data(), 0, static_cast<std::size_t>(coarse_.size));
    around_.mark_all(coarse_);
  }
  const bool all_halved = geometry.all_halved();
  const Index length = coarse_.cells[D - 1];
  for (int d = 0; d < D; ++d)
    for (int side = 0; side < 2; ++side) {
      const Index axis = d;
      const bool mirrored = all_halved && !coarse_.shared(d, side);
      mirrors_[2 * axis + static_cast<std::size_t>(side)].resize(
          mirrored ? static_cast<std::size_t>(coarse_.count() / coarse_.cells[axis]) : 0, 0.0f);
    }
  const auto for_each_row = [&](auto&& body) {
    parallel_for(0, coarse_.rows(), std::max<Index>(1, 4096 / length), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r)
        if (around_[r]) body(coarse_.row(r), coarse_.row_coordinate(r));
    });
  };
  for_each_row([&](Index row, Coord<D> block) {
    bool inner = all_halved;
    for (std::size_t d = 0; d + 1 < D; ++d) inner &= block[d] > 0 && block[d] + 1 < coarse_.cells[d];
    const auto of_block = [&](Index k) {
      block[D - 1] = k;
      for (int d = 0; d < D; ++d)
        for (int side = 0; side < 2; ++side) {
          const Index axis = d;
          auto& mirrors = mirrors_[2 * axis + static_cast<std::size_t>(side)];
          if (!mirrors.empty() && block[axis] == (side ? coarse_.cells[axis] - 1 : 0)) mirrors[place_on_side(d, block)] = 0;
        }
      regular_[row + k] = all_halved && find_mirrors(fine, geometry, joining, block);
    };
    if (!inner) {
      for (Index k = 0; k < length; ++k) of_block(k);
      return;
    }
    const std::uint8_t *state = joining.state.data() + row, *links = joining.links.data() + row;
    std::uint8_t* to = regular_.data() + row;
    simd_dispatch([=, strides = coarse_.strides] {
      for (Index k = 0; k < length; ++k) {
        int linked = state[k] & CellJoining<D>::full;
        for (std::size_t d = 0; d < D; ++d) linked &= (links[k] & links[k + strides[d]]) >> d;
        to[k] = static_cast<std::uint8_t>(linked & 1);
      }
    });
    of_block(0);
    of_block(length - 1);
  });
  coarse_.halo.exchange(regular_.data());
  around_.widen();
  // Beyond sides of the domain nothing else is gathered.
  for_each_row([&](Index row, const Coord<D>& block) {
    const std::uint8_t* own = regular_.data() + row;
    std::uint8_t* to = gathers_.data() + row;
    std::copy_n(own, length, to);
    for (std::size_t d = 0; d < D; ++d)
      for (const int side : {0, 1}) {
        const Index s = side ? coarse_.strides[d] : -coarse_.strides[d];
        const bool shared = coarse_.shared(static_cast<int>(d), side);
        if (d + 1 < D && block[d] == (side ? coarse_.cells[d] - 1 : 0) && !shared) continue;
        const Index begin = d + 1 == D && !side && !shared, end = length - (d + 1 == D && side && !shared);
        for (Index k = begin; k < end; ++k) to[k] = static_cast<std::uint8_t>(to[k] & own[k + s]);
      }
  });
}

template <int D>
void PoissonTransfer<D>::list_runs(const BlockGeometry<D>& geometry, const CellJoining<D>& joining,
                                   const TransferBoxes<D>& boxes) {
  const auto& [interpolated, restricted] = boxes;
  const auto inside = [](const parallel::IndexBox<D>& box, const Coord<D>& block, std::size_t axes) {
    bool yes = true;
    for (std::size_t d = 0; d < axes; ++d) yes &= block[d] >= box.begin[d] && block[d] < box.end[d];
    return yes;
  };
  std::vector<Coord<D>> beside;
  const auto number = [&](const Coord<D>& block) {
    block_number_[coarse_.index(block)] = static_cast<std::int32_t>(blocks_.size());
    blocks_.push_back(block);
  };
  interpolate_runs_.clear();
  restrict_runs_.clear();
  blocks_.clear();
  for (Index r = 0; r < coarse_.rows(); ++r) {
    Coord<D> block = coarse_.row_coordinate(r);
    if (!inside(interpolated, block, D - 1)) continue;
    const Index first = coarse_.row(r);
    const Index fine_first = geometry.fine.index(geometry.first(block));
    const auto list = [&](std::vector<TransferRun>& runs, const std::uint8_t* flags, const parallel::IndexBox<D>& box) {
      const Index length = box.end[D - 1];
      for (Index k = box.begin[D - 1]; k < length;) {
        if (!flags[k]) {
          ++k;
          continue;
        }
        const void* gap = std::memchr(flags + k, 0, static_cast<std::size_t>(length - k));
        const Index end = std::min(gap ? static_cast<const std::uint8_t*>(gap) - flags : length, k + run_length);
        runs.push_back({first + k, fine_first + 2 * k, end - k});
        k = end;
      }
    };
    list(interpolate_runs_, regular_.data() + first, interpolated);
    if (inside(restricted, block, D - 1)) list(restrict_runs_, gathers_.data() + first, restricted);
    for (Index k = interpolated.begin[D - 1]; k < interpolated.end[D - 1]; ++k) {
      if (gathers_[first + k]) continue;
      if (joining.state[first + k] & CellJoining<D>::empty) {
        block_number_[first + k] = -1;
        continue;
      }
      block[D - 1] = k;
      if (inside(restricted, block, D))
        number(block);
      else
        beside.push_back(block);
    }
  }
  gathering_blocks_ = static_cast<Index>(blocks_.size());
  for (const Coord<D>& block : beside) number(block);
}

template <int D>
Index PoissonTransfer<D>::bytes() const {
  const std::size_t listed = (fine_cells_.size() + coarse_cells_.size()) * sizeof(std::uint32_t) +
                             (coarse_begin_.size() + block_begin_.size()) * sizeof(Index) +
                             (fine_entries_.size() + coarse_entries_.size()) * sizeof(TransferEntry) +
                             (interpolate_runs_.size() + restrict_runs_.size()) * sizeof(TransferRun) +
                             blocks_.size() * sizeof(Coord<D>);
  Index mirrors = 0;
  for (const std::vector<float>& m : mirrors_) mirrors += static_cast<Index>(m.size() * sizeof(float));
  return static_cast<Index>(listed) + mirrors + 2 * regular_.size() + block_number_.size() * 4;
}

template class PoissonTransfer<2>;
template class PoissonTransfer<3>;

}  // namespace meniscus::grid
