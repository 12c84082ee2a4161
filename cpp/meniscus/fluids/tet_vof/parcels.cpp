#include "meniscus/fluids/tet_vof/parcels.hpp"

namespace meniscus::fluids {

namespace {
constexpr Index chunk = 1024;
}

void Parcels::add_to(const TetWater& water, Workspace& workspace) {
  all_.clear();
  for (const auto& piece : pieces_)
    for (const Parcel& p : piece) all_.push_back(&p);
  const auto n = static_cast<Index>(all_.size());
  keys_.resize(all_.size());
  order_.resize(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) keys_[i] = static_cast<std::uint64_t>(all_[i]->target);
  radix_sort(keys_.data(), order_.data(), n, std::uint64_t{1} << 31, workspace);
  parallel_for(0, n, chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const std::uint64_t target = keys_[static_cast<std::size_t>(i)];
      if (i > 0 && keys_[static_cast<std::size_t>(i - 1)] == target) continue;
      double volume = 0;
      mesh::Point momentum = mesh::Point::Zero();
      for (Index j = i; j < n && keys_[static_cast<std::size_t>(j)] == target; ++j) {
        const Parcel& p = *all_[static_cast<std::size_t>(order_[static_cast<std::size_t>(j)])];
        volume += p.volume;
        momentum += p.volume * p.velocity;
      }
      water.mix(static_cast<std::size_t>(target), volume, momentum);
    }
  });
}

std::size_t Parcels::nbytes() const {
  std::size_t bytes = all_.capacity() * sizeof(all_[0]) + keys_.capacity() * sizeof(keys_[0]) + order_.capacity() * sizeof(Index);
  for (const auto& p : pieces_) bytes += p.capacity() * sizeof(Parcel);
  return bytes;
}

}  // namespace meniscus::fluids
