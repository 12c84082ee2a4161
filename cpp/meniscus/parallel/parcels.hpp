/// Messages of which only the sender knows how long they are: parcels between any two blocks, and lists from all to all.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

namespace meniscus::parallel {

/// Bytes by the block that they go to, or come from.
using Parcels = std::map<int, std::vector<std::byte>>;

/// Collective: sends every parcel to its block, and returns those that have come. Their lengths go ahead in one gather, or in two
/// where a block sends to more than 26 others.
Parcels exchange_parcels(Communicator& communicator, int tag, Parcels& outgoing);

/// Collective: the lists of all blocks, one after the other in the order of the blocks' numbers.
template <class T>
std::vector<T> gather_lists(Communicator& communicator, const std::vector<T>& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (communicator.size() == 1) return own;
  const auto blocks = static_cast<std::size_t>(communicator.size());
  std::vector<Index> lengths(blocks);
  const auto length = static_cast<Index>(own.size());
  communicator.gather(&length, sizeof length, lengths.data());
  // A gather takes the same number of bytes from every block.
  const auto most = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<T> all;
  if (most == 0) return all;
  std::vector<T> padded(own), together(most * blocks);
  padded.resize(most);
  communicator.gather(padded.data(), most * sizeof(T), together.data());
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto first = together.begin() + static_cast<std::ptrdiff_t>(b * most);
    all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(lengths[b]));
  }
  return all;
}

}  // namespace meniscus::parallel
