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
void PoissonTransfer<D>::restrict_residual(PoissonLevel<D>& from, PoissonLevel<D>& to) const {
  fine_.halo.exchange(from.residual.data());
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
  restrict_mirrors(residual, b);
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
void PoissonTransfer<D>::add_correction(PoissonLevel<D>& from, PoissonLevel<D>& to) const {
  mirror(from.x.data());
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
  clear_mirrors(from.x.data());
  fine_.halo.exchange(x);
}

// --- sides of the domain
// --------------------------------------------------------------------------------------------------------------

template <int D>
std::size_t PoissonTransfer<D>::place_on_side(int axis, const Coord<D>& block) const {
  Index place = 0;
  for (int d = 0; d < D; ++d)
    if (d != axis) place = place * coarse_.cells[static_cast<std::size_t>(d)] + block[static_cast<std::size_t>(d)];
  return static_cast<std::size_t>(place);
}

template <int D>
float PoissonTransfer<D>::mirror_of(const Coord<D>& block, int axis, int side) const {
  const auto d = static_cast<std::size_t>(axis);
  const std::vector<float>& mirrors = mirrors_[2 * d + static_cast<std::size_t>(side)];
  if (mirrors.empty() || block[d] != (side ? coarse_.cells[d] - 1 : 0)) return 0;
  return mirrors[place_on_side(axis, block)];
}

template <int D>
template <class Body>
void PoissonTransfer<D>::for_each_side_row(Body&& body) const {
  for (int d = 0; d < D; ++d)
    for (int side = 0; side < 2; ++side) {
      const auto axis = static_cast<std::size_t>(d);
      const std::vector<float>& mirrors = mirrors_[2 * axis + static_cast<std::size_t>(side)];
      if (mirrors.empty()) continue;
      const Index count = d == D - 1 ? 1 : coarse_.cells[D - 1];
      const auto rows = static_cast<Index>(mirrors.size()) / count;
      parallel_for(0, rows, std::max<Index>(1, 4096 / count), [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
          Coord<D> block{};
          Index rest = r;
          for (int k = D - 2; k >= 0; --k)
            if (k != d) {
              const auto other = static_cast<std::size_t>(k);
              block[other] = rest % coarse_.cells[other];
              rest /= coarse_.cells[other];
            }
          block[axis] = side ? coarse_.cells[axis] - 1 : 0;
          body(d, side, mirrors.data() + r * count, block, count);
        }
      });
    }
}

template <int D>
void PoissonTransfer<D>::mirror(float* x) const {
  for_each_side_row([&](int d, int side, const float* factor, const Coord<D>& block, Index count) {
    const Index s = coarse_.strides[static_cast<std::size_t>(d)];
    const float* from = x + coarse_.index(block);
    float* ghost = x + coarse_.index(block) + (side ? s : -s);
    for (Index k = 0; k < count; ++k) ghost[k] = factor[k] * from[k];
  });
}

template <int D>
void PoissonTransfer<D>::clear_mirrors(float* x) const {
  for_each_side_row([&](int d, int side, const float*, const Coord<D>& block, Index count) {
    const Index s = coarse_.strides[static_cast<std::size_t>(d)];
    std::memset(x + coarse_.index(block) + (side ? s : -s), 0, static_cast<std::size_t>(count) * sizeof(float));
  });
}

template <int D>
void PoissonTransfer<D>::restrict_mirrors(const float* residual, float* b) const {
  for_each_side_row([&](int d, int side, const float* factor, const Coord<D>& block, Index count) {
    const auto axis = static_cast<std::size_t>(d);
    float* to = b + coarse_.index(block);
    Coord<D> first;
    for (std::size_t k = 0; k < D; ++k) first[k] = 2 * block[k];
    if (side) ++first[axis];
    // The children that touch the side: two along every other axis.
    std::array<Index, D> step{};
    std::size_t others = 0;
    for (std::size_t k = 0; k < D; ++k)
      if (k != axis) step[others++] = fine_.strides[k];
    const float* from = residual + fine_.index(first);
    for (Index k = 0; k < count; ++k) {
      const float* r = from + 2 * k;
      float sum = r[0] + r[step[0]];
      if constexpr (D == 3) sum += r[step[1]] + r[step[0] + step[1]];
      to[k] += 0.25f * factor[k] * sum;
    }
  });
}

template <int D>
bool PoissonTransfer<D>::find_mirrors(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry,
                                      const CellJoining<D>& joining, const Coord<D>& block) {
  const Index index = coarse_.index(block);
  if (!(joining.state[index] & CellJoining<D>::full)) return false;
  int sides = 0, last = 0;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    for (int side = 0; side < 2; ++side) {
      const bool end = block[axis] == (side ? coarse_.cells[axis] - 1 : 0);
      if (end && !coarse_.shared(d, side)) {
        ++sides;
        last = 2 * d + side;
      } else if (!(joining.links[side ? index + coarse_.strides[axis] : index] & CellJoining<D>::link(d)) ||
                 (end && coarse_.cells[axis] < 3)) {
        return false;
      }
    }
  }
  if (sides == 0) return true;
  std::array<float, 2 * D> mirror;
  mirror.fill(1.0f);
  bool any_fixed = false;
  for (int c = 0; c < BlockGeometry<D>::children; ++c) any_fixed |= dirichlet_coupling<float, D>(fine, geometry.child(block, c)) > 0;
  if (any_fixed) {
    // At edges nobody says on which of the sides the value is given.
    if (sides > 1) return false;
    const int d = last / 2, side = last % 2;
    const Index s = fine.layout.strides[static_cast<std::size_t>(d)];
    float inner = 0, fixed = 0;
    for (int c = 0; c < BlockGeometry<D>::children; ++c) {
      if (((c >> d) & 1) != side) continue;
      const Index i = geometry.child(block, c);
      const float in = fine.face(d, side ? i : i + s), out = dirichlet_coupling<float, D>(fine, i);
      constexpr float same = 1e-3f;
      if (inner == 0) {
        inner = in;
        fixed = out;
      } else if (std::abs(in - inner) > same * inner || std::abs(out - fixed) > same * fixed) {
        return false;
      }
    }
    if (fixed <= 0) return false;
    // The weight of the zero; not so much that nothing is left for the own cell.
    const float weight = std::min(1.0f / D, (0.5f / inner) / (0.5f / inner + 1 / fixed));
    mirror[static_cast<std::size_t>(last)] = 1 - 4 * weight;
  }
  for (int d = 0; d < D; ++d)
    for (int side = 0; side < 2; ++side) {
      const auto axis = static_cast<std::size_t>(d);
      auto& mirrors = mirrors_[2 * axis + static_cast<std::size_t>(side)];
      if (!mirrors.empty() && block[axis] == (side ? coarse_.cells[axis] - 1 : 0))
        mirrors[place_on_side(d, block)] = mirror[2 * axis + static_cast<std::size_t>(side)];
    }
  return true;
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
void PoissonTransfer<D>::build(const FaceMatrix<float, D>& fine, const CellJoining<D>& joining, const RowChanges<D>& changed) {
  const BlockGeometry<D> geometry(fine.layout);
  fine_ = geometry.fine;
  coarse_ = geometry.coarse;
  sort_blocks(fine, geometry, joining, changed);
  list_runs(geometry);
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
      const auto axis = static_cast<std::size_t>(d);
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
          const auto axis = static_cast<std::size_t>(d);
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
void PoissonTransfer<D>::list_runs(const BlockGeometry<D>& geometry) {
  const Index length = coarse_.cells[D - 1];
  interpolate_runs_.clear();
  restrict_runs_.clear();
  blocks_.clear();
  for (Index r = 0; r < coarse_.rows(); ++r) {
    Coord<D> block = coarse_.row_coordinate(r);
    const Index first = coarse_.row(r);
    const Index fine_first = geometry.fine.index(geometry.first(block));
    // Calls other(k) for the blocks between the runs.
    const auto list = [&](std::vector<TransferRun>& runs, const std::uint8_t* flags, auto&& other) {
      for (Index k = 0; k < length;) {
        if (!flags[k]) {
          other(k++);
          continue;
        }
        const void* gap = std::memchr(flags + k, 0, static_cast<std::size_t>(length - k));
        const Index end = std::min(gap ? static_cast<const std::uint8_t*>(gap) - flags : length, k + run_length);
        runs.push_back({first + k, fine_first + 2 * k, end - k});
        k = end;
      }
    };
    list(interpolate_runs_, regular_.data() + first, [](Index) {});
    list(restrict_runs_, gathers_.data() + first, [&](Index k) {
      block[D - 1] = k;
      block_number_[first + k] = static_cast<std::int32_t>(blocks_.size());
      blocks_.push_back(block);
    });
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
        fine_cells_[static_cast<std::size_t>(k)] = static_cast<std::uint32_t>(i);
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
          if (axis < 0) {
            float weight = 1 - 0.25f * D;
            for (int d = 0; d < D; ++d) weight += 0.25f * mirror_of(source, d, (c >> d) & 1);
            add(geometry.child(source, c), weight);
          } else if (((c >> axis) & 1) != side)
            add(geometry.child(source, c), 0.25f);
        }
      } else {
        const auto n = static_cast<std::size_t>(block_number_[i]);
        for (Index k = block_begin_[n]; k < block_begin_[n + 1]; ++k)
          for (Index e = 0; e < sources; ++e) {
            const TransferEntry& entry = fine_entries_[static_cast<std::size_t>(k * sources + e)];
            if (static_cast<Index>(entry.cell) == own && entry.weight != 0) add(fine_cells_[static_cast<std::size_t>(k)], entry.weight);
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
      coarse_cells_[static_cast<std::size_t>(n)] = static_cast<std::uint32_t>(coarse_.index(block));
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
                    [&](Index cell, float weight) { coarse_entries_[k++] = {static_cast<std::uint32_t>(cell), weight}; });
    }
  });
}

template <int D>
Index PoissonTransfer<D>::bytes() const {
  const std::size_t listed =
      (fine_cells_.size() + coarse_cells_.size()) * sizeof(std::uint32_t) +
      (coarse_begin_.size() + block_begin_.size()) * sizeof(Index) +
      (fine_entries_.size() + coarse_entries_.size()) * sizeof(TransferEntry) +
      (interpolate_runs_.size() + restrict_runs_.size()) * sizeof(TransferRun) + blocks_.size() * sizeof(Coord<D>);
  return static_cast<Index>(listed) + 2 * regular_.size() + block_number_.size() * 4;
}

template class PoissonTransfer<2>;
template class PoissonTransfer<3>;

}  // namespace meniscus::grid
