#include "meniscus/core/radix_sort.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace meniscus::core {
namespace {
constexpr int digit_bits = 11;  // of a key, sorted in one pass
constexpr Index bins = Index{1} << digit_bits;
constexpr Index max_pieces = 64;  // counted separately, in parallel

/// Sorts in one pass by whole keys, where those of each piece lie close together, as those of what was in order not long ago do:
/// then there are few to count, beside the keys themselves.
class OnePass {
 public:
  OnePass(const std::uint64_t* keys, Index n, Workspace& workspace)
      : keys_(keys),
        n_(n),
        piece_(std::max<Index>(8192, (n + most_pieces - 1) / most_pieces)),
        pieces_((n + piece_ - 1) / piece_) {
    parallel_for(0, n, piece_, [&](Index begin, Index end) {
      std::uint64_t least = keys[begin], most = least;
      for (Index i = begin + 1; i < end; ++i) {
        least = std::min(least, keys[i]);
        most = std::max(most, keys[i]);
      }
      ranges_[begin / piece_] = {least, most + 1, 0};
    });
    const auto limit = static_cast<std::uint64_t>(2 * n);
    std::uint64_t sum = 0;
    if (n == 0 || n > std::numeric_limits<std::int32_t>::max()) return;
    least_ = ranges_[0].begin;
    for (Index p = 0; p < pieces_; ++p) {
      Range& r = ranges_[p];
      least_ = std::min(least_, r.begin);
      end_ = std::max(end_, r.end);
      r.first = static_cast<Index>(sum);
      sum += r.end - r.begin;
      if (r.end <= r.begin || sum > limit) return;
    }
    if (end_ - least_ > limit) return;
    counts_ = workspace.take<std::int32_t>(static_cast<Index>(sum));
    of_blocks_ = workspace.take<std::int32_t>(blocks());
  }

  bool works() const { return of_blocks_.data() != nullptr; }

  void sort(std::uint64_t* sorted, Index* order) const {
    parallel_for(0, n_, piece_, [&](Index begin, Index end) {
      const Range& r = ranges_[begin / piece_];
      std::int32_t* const count = counts_.data() + r.first;
      std::fill_n(count, r.end - r.begin, 0);
      for (Index i = begin; i < end; ++i) ++count[keys_[i] - r.begin];
    });
    find_offsets();
    parallel_for(0, n_, piece_, [&](Index begin, Index end) {
      const Range& r = ranges_[begin / piece_];
      std::int32_t* const next = counts_.data() + r.first;
      for (Index i = begin; i < end; ++i) {
        const std::uint64_t key = keys_[i];
        const Index to = next[key - r.begin]++;
        sorted[to] = key;
        order[to] = i;
      }
    });
  }

 private:
  static constexpr Index most_pieces = 32, keys_per_block = 4096;
  struct Range {
    std::uint64_t begin, end;
    Index first;  ///< of its counts
  };

  Index blocks() const { return static_cast<Index>((end_ - least_ + keys_per_block - 1) / keys_per_block); }

  /// Calls visit(counts of a piece, from key, to key) for the pieces that have keys of a block, in order.
  template <class Visit>
  void for_each_piece_of(Index block, Visit&& visit) const {
    const std::uint64_t begin = least_ + static_cast<std::uint64_t>(block * keys_per_block), end = begin + keys_per_block;
    for (Index p = 0; p < pieces_; ++p) {
      const Range& r = ranges_[p];
      const std::uint64_t from = std::max(begin, r.begin), to = std::min(end, r.end);
      if (from < to) visit(counts_.data() + r.first + (from - r.begin), from - begin, to - begin);
    }
  }

  /// Puts where the keys of each piece go in the place of how many there are: keys in order, and those of one key by piece.
  void find_offsets() const {
    parallel_for(0, blocks(), 1, [&](Index begin, Index end) {
      for (Index b = begin; b < end; ++b) {
        std::int32_t sum = 0;
        for_each_piece_of(b, [&](const std::int32_t* counts, std::uint64_t from, std::uint64_t to) {
          for (std::uint64_t k = from; k < to; ++k) sum += *counts++;
        });
        of_blocks_.data()[b] = sum;
      }
    });
    std::int32_t start = 0;
    for (Index b = 0; b < blocks(); ++b) start += std::exchange(of_blocks_.data()[b], start);
    parallel_for(0, blocks(), 1, [&](Index begin, Index end) {
      for (Index b = begin; b < end; ++b) {
        std::array<std::int32_t, keys_per_block> next{};
        for_each_piece_of(b, [&](const std::int32_t* counts, std::uint64_t from, std::uint64_t to) {
          for (std::uint64_t k = from; k < to; ++k) next[k] += *counts++;
        });
        std::int32_t before = of_blocks_.data()[b];
        for (std::int32_t& count : next) before += std::exchange(count, before);
        for_each_piece_of(b, [&](std::int32_t* counts, std::uint64_t from, std::uint64_t to) {
          for (std::uint64_t k = from; k < to; ++k, ++counts) next[k] += std::exchange(*counts, next[k]);
        });
      }
    });
  }

  const std::uint64_t* keys_;
  Index n_, piece_, pieces_;
  std::array<Range, most_pieces> ranges_;
  std::uint64_t least_ = 0, end_ = 0;
  Workspace::Lease<std::int32_t> counts_, of_blocks_;
};

}  // namespace

void radix_sort(std::uint64_t* keys, Index* order, Index n, std::uint64_t end_key, Workspace& workspace) {
  const Index piece = std::max<Index>(8192, (n + max_pieces - 1) / max_pieces);
  const Index pieces = (n + piece - 1) / piece;
  auto other_keys = workspace.take<std::uint64_t>(n);
  if (const OnePass pass(keys, n, workspace); pass.works()) {
    pass.sort(other_keys.data(), order);
    parallel_for(0, n, piece, [&](Index b, Index e) { std::copy(other_keys.data() + b, other_keys.data() + e, keys + b); });
    return;
  }
  auto other_order = workspace.take<Index>(n);
  auto offsets = workspace.take<Index>(std::max<Index>(1, pieces) * bins);
  std::uint64_t* from_keys = keys;
  std::uint64_t* to_keys = other_keys.data();
  Index* from_order = order;
  Index* to_order = other_order.data();
  parallel_for(0, n, piece, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) order[i] = i;
  });
  const int bits = end_key > 1 ? static_cast<int>(std::bit_width(end_key - 1)) : 0;
  for (int shift = 0; shift < bits; shift += digit_bits) {
    const auto digit = [shift](std::uint64_t key) { return static_cast<Index>((key >> shift) & (bins - 1)); };
    parallel_for(0, n, piece, [&](Index b, Index e) {
      Index* count = offsets.data() + (b / piece) * bins;
      std::fill_n(count, bins, Index{0});
      for (Index i = b; i < e; ++i) ++count[digit(from_keys[i])];
    });
    // Offsets of the keys of each digit of each piece: digits first, then pieces in order, which keeps the sort stable.
    Index start = 0;
    for (Index d = 0; d < bins; ++d)
      for (Index p = 0; p < pieces; ++p) {
        Index& o = offsets.data()[p * bins + d];
        start += std::exchange(o, start);
      }
    parallel_for(0, n, piece, [&](Index b, Index e) {
      Index* next = offsets.data() + (b / piece) * bins;
      for (Index i = b; i < e; ++i) {
        const Index to = next[digit(from_keys[i])]++;
        to_keys[to] = from_keys[i];
        to_order[to] = from_order[i];
      }
    });
    std::swap(from_keys, to_keys);
    std::swap(from_order, to_order);
  }
  if (from_keys != keys && n > 0) {
    std::memcpy(keys, from_keys, static_cast<std::size_t>(n) * sizeof(std::uint64_t));
    std::memcpy(order, from_order, static_cast<std::size_t>(n) * sizeof(Index));
  }
}

}  // namespace meniscus::core
