#include "meniscus/fluids/tet_vof/parcels.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace meniscus::fluids {
namespace {

/// Targets that are summed together, in memory that fits into a core's own cache.
constexpr int bucket_bits = 11;
constexpr std::size_t width = std::size_t{1} << bucket_bits;
constexpr std::size_t most_groups = 64;
/// Parcels in a piece of a loop where there are few.
constexpr Index few = 512;

/// Sums of what goes to consecutive tetrahedra.
class Sums {
 public:
  void add(std::size_t i, double v, const mesh::Point& velocity) {
    std::uint64_t& some = some_[i / 64];
    if ((some >> (i % 64) & 1) == 0) {
      some |= std::uint64_t{1} << (i % 64);
      volume_[i] = 0;
      momentum_[i].setZero();
    }
    volume_[i] += v;
    momentum_[i] += v * velocity;
  }
  void mix_into(const TetWater& water, std::size_t first) const {
    for (std::size_t word = 0; word < some_.size(); ++word)
      for (std::uint64_t rest = some_[word]; rest != 0; rest &= rest - 1) {
        const std::size_t i = 64 * word + static_cast<std::size_t>(std::countr_zero(rest));
        water.mix(first + i, volume_[i], momentum_[i]);
      }
  }

 private:
  /// A bit for each that gets anything.
  std::array<std::uint64_t, width / 64> some_{};
  std::array<double, width> volume_;
  std::array<mesh::Point, width> momentum_;
};

std::size_t bucket_of(std::int32_t target) { return static_cast<std::size_t>(target) >> bucket_bits; }

}  // namespace

/// Sorts the numbers of all parcels by the range of their targets; those of a range stay in order.
void Parcels::group(std::size_t buckets, Workspace& workspace) {
  const std::size_t pieces = pieces_.size(), count = first_[pieces];
  // Few groups where there is little to count.
  const std::size_t groups = std::clamp<std::size_t>(count / (4 * buckets), 1, most_groups);
  const auto per_group = static_cast<Index>((pieces + groups - 1) / groups);
  auto lease = workspace.take<std::uint32_t>(static_cast<Index>(groups * buckets));
  const std::span<std::uint32_t> next(lease.data(), groups * buckets);
  parallel_for(0, static_cast<Index>(groups), 1, [&](Index g, Index) {
    const auto row = next.subspan(static_cast<std::size_t>(g) * buckets, buckets);
    std::fill(row.begin(), row.end(), 0u);
    for (auto p = static_cast<std::size_t>(g * per_group); p < std::min(static_cast<std::size_t>((g + 1) * per_group), pieces);
         ++p)
      for (std::size_t i = 0; i < pieces_[p].size(); ++i) ++row[bucket_of(pieces_[p].target(i))];
  });
  bucket_.resize(buckets + 1);
  std::uint32_t start = 0;
  for (std::size_t k = 0; k < buckets; ++k) {
    bucket_[k] = start;
    for (std::size_t g = 0; g < groups; ++g) start += std::exchange(next[g * buckets + k], start);
  }
  bucket_[buckets] = start;
  resize_anew(order_, count);
  parallel_for(0, static_cast<Index>(groups), 1, [&](Index g, Index) {
    const auto row = next.subspan(static_cast<std::size_t>(g) * buckets, buckets);
    for (auto p = static_cast<std::size_t>(g * per_group); p < std::min(static_cast<std::size_t>((g + 1) * per_group), pieces);
         ++p)
      for (std::size_t i = 0; i < pieces_[p].size(); ++i)
        order_[row[bucket_of(pieces_[p].target(i))]++] = first_[p] + static_cast<std::uint32_t>(i);
  });
}

void Parcels::add_to(const TetWater& water, Workspace& workspace) {
  first_.resize(pieces_.size() + 1);
  std::size_t count = 0;
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    first_[p] = static_cast<std::uint32_t>(count);
    count += pieces_[p].size();
  }
  require(count <= std::numeric_limits<std::uint32_t>::max(), "there must be fewer than 2^32 parcels of water, not ", count);
  first_[pieces_.size()] = static_cast<std::uint32_t>(count);
  if (count == 0) return;
  const std::size_t buckets = (water.volume.size() + width - 1) >> bucket_bits;
  if (count < 4 * buckets) return add_few_to(water);
  group(buckets, workspace);
  parallel_for(0, static_cast<Index>(buckets), 1, [&](Index b, Index) {
    const auto begin = order_.begin() + bucket_[b];
    const auto end = order_.begin() + bucket_[static_cast<std::size_t>(b) + 1];
    if (begin == end) return;
    Sums sums;
    std::size_t piece = 0;
    for (auto n = begin; n != end; ++n) {
      if (n == begin || *n >= first_[piece + 1]) {
        const auto after = std::upper_bound(first_.begin() + static_cast<std::ptrdiff_t>(piece), first_.end(), *n);
        piece = static_cast<std::size_t>(after - first_.begin()) - 1;
      }
      const ParcelList& list = pieces_[piece];
      const std::size_t i = *n - first_[piece];
      sums.add(static_cast<std::size_t>(list.target(i)) & (width - 1), list.volume(i), list.velocity(i));
    }
    sums.mix_into(water, static_cast<std::size_t>(b) << bucket_bits);
  });
}

/// The same for few parcels far from each other, which would fill hardly any range: sorts them by target and number.
void Parcels::add_few_to(const TetWater& water) {
  keys_.clear();
  std::uint64_t number = 0;
  for (const ParcelList& list : pieces_)
    for (std::size_t i = 0; i < list.size(); ++i) keys_.push_back(static_cast<std::uint64_t>(list.target(i)) << 32 | number++);
  std::sort(keys_.begin(), keys_.end());
  const auto target_of = [&](std::size_t k) { return static_cast<std::size_t>(keys_[k] >> 32); };
  parallel_for(0, static_cast<Index>(keys_.size()), few, [&](Index b, Index e) {
    auto k = static_cast<std::size_t>(b);
    // Who has the first parcel of a target adds all of them.
    while (k > 0 && k < static_cast<std::size_t>(e) && target_of(k) == target_of(k - 1)) ++k;
    while (k < static_cast<std::size_t>(e)) {
      const std::size_t target = target_of(k);
      double volume = 0;
      mesh::Point momentum = mesh::Point::Zero();
      for (; k < keys_.size() && target_of(k) == target; ++k) {
        const auto n = static_cast<std::uint32_t>(keys_[k]);
        const auto piece = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), n) - first_.begin()) - 1;
        const std::size_t i = n - first_[piece];
        volume += pieces_[piece].volume(i);
        momentum += pieces_[piece].volume(i) * pieces_[piece].velocity(i);
      }
      water.mix(target, volume, momentum);
    }
  });
}

std::size_t Parcels::nbytes() const {
  std::size_t bytes = (first_.capacity() + order_.capacity() + bucket_.capacity()) * 4 + keys_.capacity() * 8;
  for (const ParcelList& p : pieces_) bytes += p.nbytes() + sizeof(ParcelList);
  return bytes;
}

}  // namespace meniscus::fluids
