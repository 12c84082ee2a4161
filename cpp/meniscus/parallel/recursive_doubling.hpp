/// Reduction over all blocks in about log2 n rounds of messages with the size of one value.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

namespace meniscus::parallel {

/// Collective: combines each of `count` values with those of all blocks. join(a, b) must not depend on the order or grouping of
/// what is combined, down to the last bit, because it differs from block to block.
///
/// With p the largest power of two up to the number of blocks: those from p on give theirs to blocks 0, 1, ..., then in round k
/// blocks whose numbers differ in bit k exchange what they have, and at last those from p on get the result.
template <class T, class Join>
void reduce_over_blocks(Communicator& communicator, T* values, std::size_t count, Join&& join) {
  static_assert(std::is_trivially_copyable_v<T>);
  const int n = communicator.size(), rank = communicator.rank();
  if (n == 1 || count == 0) return;
  const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const std::size_t bytes = count * sizeof(T);
  std::byte* const received = communicator.buffer(bytes);
  const auto message = [&](int block, void* data) {
    return Message{block, tags::reduction, static_cast<std::byte*>(data), bytes};
  };
  const auto take = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      T other;
      std::memcpy(&other, received + i * sizeof(T), sizeof(T));
      values[i] = join(values[i], other);
    }
  };
  if (rank >= p) {
    const Message out = message(rank - p, values), in = message(rank - p, values);
    communicator.exchange({&out, 1}, {});
    communicator.exchange({}, {&in, 1});
    return;
  }
  if (rank + p < n) {
    const Message in = message(rank + p, received);
    communicator.exchange({}, {&in, 1});
    take();
  }
  for (int bit = 1; bit < p; bit *= 2) {
    const Message out = message(rank ^ bit, values), in = message(rank ^ bit, received);
    communicator.exchange({&out, 1}, {&in, 1});
    take();
  }
  if (rank + p < n) {
    const Message out = message(rank + p, values);
    communicator.exchange({&out, 1}, {});
  }
}

}  // namespace meniscus::parallel
