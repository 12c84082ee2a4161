#include "meniscus/fluids/tet_vof/conservation/offers.hpp"

namespace meniscus::fluids {

void Offers::begin(std::span<const std::int32_t> sources, std::span<const mesh::Point> velocities) {
  sources_ = sources;
  velocities_.resize(sources.size());
  offered_.resize(sources.size());
  taken_.resize(sources.size());
  offers_.assign(sources.size(), 0);
  parallel_for(0, static_cast<Index>(sources.size()), chunk, [&](Index b, Index e) {
    for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i) {
      offered_[i] = taken_[i] = {};
      velocities_[i] = velocities[static_cast<std::size_t>(sources[i])];
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

/// What is offered to a target across one of its faces.
Offers::Offer Offers::offer_across(std::int32_t target, std::size_t face) const {
  const std::int32_t source = graph_.neighbours(target)[face];
  if (source < 0) return {};
  const std::int32_t place = places_[static_cast<std::size_t>(source)];
  if (place < 0) return {};
  const auto p = static_cast<std::size_t>(place);
  const std::size_t back = graph_.back_face(target, face);
  return {offered_[p][back], p, back};
}

/// Whether source i is the first of those that offer something to a target, which lies across one of its faces.
bool Offers::is_first(Index i, std::int32_t target) const {
  for (std::size_t face = 0; face < 4; ++face) {
    const std::int32_t source = graph_.neighbours(target)[face];
    if (source < 0) continue;
    const std::int32_t place = places_[static_cast<std::size_t>(source)];
    if (place < 0 || place >= i) continue;
    if (offered_[static_cast<std::size_t>(place)][graph_.back_face(target, face)] > 0) return false;
  }
  return true;
}

void Offers::take_at(std::int32_t target, const TetWater& water, const Quantum& quantum, double room) {
  std::array<Offer, 4> offers;
  double all = 0;
  for (std::size_t face = 0; face < 4; ++face) {
    offers[face] = offer_across(target, face);
    all += offers[face].volume;
  }
  double volume = 0;
  mesh::Point momentum = mesh::Point::Zero();
  for (const Offer& offer : offers) {
    if (!(offer.volume > 0)) continue;
    const double v = all <= room ? offer.volume : quantum.share(room, offer.volume, all);
    taken_[offer.place][offer.face] = v;
    volume += v;
    momentum += v * velocities_[offer.place];
  }
  water.mix(static_cast<std::size_t>(target), volume, momentum);
}

}  // namespace meniscus::fluids
