#include "meniscus/core/radix_sort.hpp"

#include "meniscus/core/parallel.hpp"

#include <bit>
#include <cstring>

namespace meniscus::core {
namespace {
constexpr int digit_bits = 11;  // of a key, sorted in one pass
constexpr Index bins = Index{1} << digit_bits;
constexpr Index max_pieces = 64;  // counted separately, in parallel
}  // namespace

void radix_sort(std::uint64_t* keys, Index* order, Index n, std::uint64_t end_key, Workspace& workspace) {
  const Index piece = std::max<Index>(8192, (n + max_pieces - 1) / max_pieces);
  const Index pieces = (n + piece - 1) / piece;
  auto other_keys = workspace.take<std::uint64_t>(n);
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
