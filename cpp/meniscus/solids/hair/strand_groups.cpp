#include "meniscus/solids/hair/strand_groups.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::solids::hair {

StrandGroups::StrandGroups(std::span<const std::int64_t> offsets, Index extra_slots) : offsets_(offsets.begin(), offsets.end()) {
  core::require(!offsets_.empty(), "offsets must begin with 0");
  // Strands of similar length share a group, so that few lanes are idle.
  const Index count = strands(), number = (count + pack_size - 1) / pack_size;
  members_.assign(pack_size * number, -1);
  std::iota(members_.begin(), members_.begin() + count, 0);
  std::stable_sort(members_.begin(), members_.begin() + count,
                   [&](std::int32_t a, std::int32_t b) { return offsets_[a + 1] - offsets_[a] > offsets_[b + 1] - offsets_[b]; });
  first_.assign(number + 1, 0);
  for (Index g = 0; g < number; ++g) {
    const std::int32_t s = members_[pack_size * g];
    const Index slots = offsets_[s + 1] - offsets_[s] + extra_slots;
    most_slots_ = std::max(most_slots_, slots);
    first_[g + 1] = first_[g] + slots;
  }
}

std::array<StrandLane, pack_size> StrandGroups::lanes_of(Index g) const {
  std::array<StrandLane, pack_size> lanes;
  per_strand(g, [&](int l, Index s) { lanes[l] = {offsets_[s], offsets_[s + 1] - offsets_[s]}; });
  return lanes;
}

double StrandGroups::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return core::parallel_reduce(
      0, strands(), 64, 0.0,
      [&](Index b, Index e) {
        double most = 0;
        for (Index s = b; s < e; ++s)
          for (Index i = offsets_[s]; i + 1 < offsets_[s + 1]; ++i) {
            const mesh::Point d = x[i + 1] - x[i];
            most = std::max(most, std::abs((v[i + 1] - v[i]).dot(d)) / std::max(d.squaredNorm(), 1e-300));
          }
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
}

}  // namespace meniscus::solids::hair
