#include "meniscus/collision/barrier/pair_sums.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::collision {

void PairSums::set(std::span<const Stencil> pairs, std::size_t vertices) {
  constexpr std::size_t most = std::size_t{1} << 30;
  require(pairs.size() < most, "there are too many pairs: ", pairs.size());
  pairs_ = static_cast<Index>(pairs.size());
  counts_.assign(vertices, 0);
  for (const Stencil& s : pairs)
    for (const std::int32_t v : s) ++counts_[v];
  touched_.clear();
  first_.assign(1, 0);
  for (std::size_t v = 0; v < vertices; ++v) {
    if (counts_[v] == 0) continue;
    touched_.push_back(static_cast<std::int32_t>(v));
    first_.push_back(first_.back() + counts_[v]);
    counts_[v] = first_[first_.size() - 2];
  }
  places_.resize(4 * pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (std::size_t k = 0; k < 4; ++k)
      places_[counts_[pairs[i][k]]++] = {static_cast<std::uint32_t>(i) & 0x3fffffffU, static_cast<std::uint32_t>(k) & 3U};
}

Index PairSums::nbytes() const {
  const auto bytes = []<class T>(const std::vector<T>& v) { return static_cast<Index>(v.capacity() * sizeof(T)); };
  return bytes(touched_) + bytes(first_) + bytes(places_) + bytes(counts_) + bytes(parts_);
}

}  // namespace meniscus::collision
