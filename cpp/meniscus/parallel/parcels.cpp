#include "meniscus/parallel/parcels.hpp"

#include <algorithm>

namespace meniscus::parallel {
namespace {

/// As many blocks as touch one in three dimensions.
constexpr std::size_t most_at_once = 26;

/// The length of a parcel and its receiver; -1: none.
struct Label {
  Index to = -1, bytes = 0;
};

}  // namespace

Parcels exchange_parcels(Communicator& communicator, int tag, Parcels& outgoing) {
  const auto blocks = static_cast<std::size_t>(communicator.size());
  Parcels incoming;
  if (blocks == 1) return incoming;
  std::vector<Label> own;
  for (const auto& [block, bytes] : outgoing)
    if (!bytes.empty()) own.push_back({block, static_cast<Index>(bytes.size())});
  // A gather takes the same number of labels from every block. The number of all of them goes with the first ones.
  std::size_t width = std::min(blocks - 1, most_at_once);
  std::vector<Label> sent(width + 1), all(blocks * (width + 1));
  sent[width].bytes = static_cast<Index>(own.size());
  std::copy_n(own.begin(), std::min(own.size(), width), sent.begin());
  communicator.gather(sent.data(), sent.size() * sizeof(Label), all.data());
  std::size_t most = 0;
  for (std::size_t b = 0; b < blocks; ++b) most = std::max(most, static_cast<std::size_t>(all[b * (width + 1) + width].bytes));
  if (most > width) {
    width = most;
    sent.assign(width + 1, Label{});
    std::copy(own.begin(), own.end(), sent.begin());
    all.assign(blocks * (width + 1), Label{});
    communicator.gather(sent.data(), sent.size() * sizeof(Label), all.data());
  }
  std::vector<Message> out, in;
  for (auto& [block, bytes] : outgoing)
    if (!bytes.empty()) out.push_back({block, tag, bytes.data(), bytes.size()});
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t k = 0; k < width; ++k) {
      const Label& label = all[b * (width + 1) + k];
      if (label.to != communicator.rank()) continue;
      std::vector<std::byte>& bytes = incoming[static_cast<int>(b)];
      bytes.resize(label.bytes);
      in.push_back({static_cast<int>(b), tag, bytes.data(), bytes.size()});
    }
  if (!out.empty() || !in.empty()) communicator.exchange(out, in);
  return incoming;
}

}  // namespace meniscus::parallel
