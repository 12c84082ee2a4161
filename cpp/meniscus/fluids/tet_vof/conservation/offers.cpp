#include "meniscus/fluids/tet_vof/conservation/offers.hpp"

#include <algorithm>

namespace meniscus::fluids {

void Offers::begin(std::span<const std::int32_t> sources, std::span<const mesh::Point> velocities) {
  sources_ = sources;
  sources_of_.resize(sources.size());
  offers_.assign(sources.size(), 0);
  parallel_for(0, static_cast<Index>(sources.size()), chunk, [&](Index b, Index e) {
    for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i) {
      sources_of_[i] = {{}, {}, velocities[static_cast<std::size_t>(sources[i])]};
      places_[static_cast<std::size_t>(sources[i])] = static_cast<std::int32_t>(i);
    }
  });
}

void Offers::end() {
  parallel_for(0, static_cast<Index>(sources_.size()), chunk, [&](Index b, Index e) {
    for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i)
      places_[static_cast<std::size_t>(sources_[i])] = -1;
  });
}

/// Asks for the memory that targets further on will need.
void Offers::fetch_sources(Index i, Index end) const {
  constexpr Index near = 4;
  if (i + near >= end || !offers(i + near)) return;
  const auto s = static_cast<std::size_t>(i + near);
  for (std::size_t k = 0; k < 4; ++k) {
    if (!(sources_of_[s].offered[k] > 0)) continue;
    for (const std::int32_t n : graph_.neighbours(graph_.neighbours(sources_[s])[k]))
      __builtin_prefetch(&places_[static_cast<std::size_t>(std::max(n, 0))]);
  }
}

/// Finds what is offered to a target. Whether `face` is the first of its faces across which something is.
bool Offers::gather(std::int32_t target, std::size_t face, Taken& taken) const {
  for (std::size_t f = 0; f < 4; ++f) {
    const std::int32_t source = graph_.neighbours(target)[f];
    if (source < 0) continue;
    const std::int32_t place = places_[static_cast<std::size_t>(source)];
    if (place < 0) continue;
    const std::size_t back = graph_.back_face(target, f);
    const double v = sources_of_[static_cast<std::size_t>(place)].offered[back];
    if (!(v > 0)) continue;
    if (f < face) return false;
    taken.volume[f] = v;
    taken.place[f] = static_cast<std::size_t>(place);
    taken.face[f] = back;
  }
  return true;
}

/// Hands to a target what it has room for. Returns how much.
double Offers::hand_over(std::int32_t target, const Taken& taken, const TetWater& water, const Quantum& quantum, double room) {
  const auto& offered = taken.volume;
  const double all = ((offered[0] + offered[1]) + offered[2]) + offered[3];
  double volume = 0;
  mesh::Point momentum = mesh::Point::Zero();
  for (std::size_t f = 0; f < 4; ++f) {
    if (!(offered[f] > 0)) continue;
    const double v = all <= room ? offered[f] : quantum.share(room, offered[f], all);
    Source& source = sources_of_[taken.place[f]];
    source.taken[taken.face[f]] = v;
    volume += v;
    momentum += v * source.velocity;
  }
  water.mix(static_cast<std::size_t>(target), volume, momentum);
  return volume;
}

}  // namespace meniscus::fluids
