#include "meniscus/fluids/tet_vof/conservation/offers.hpp"

#include <algorithm>

namespace meniscus::fluids {

void Offers::begin(std::span<const std::int32_t> sources) {
  sources_ = sources;
  // Only those that offer something are written to, and read.
  if (sources_of_.size() < sources.size() + 1) sources_of_.resize(sources.size() + 1);
  offers_.assign(sources.size(), 0);
  if (targets_.size() < static_cast<std::size_t>(pieces())) targets_.resize(pieces());
  for (Index p = 0; p < pieces(); ++p) targets_[p].clear();
}

void Offers::end() {
  parallel_for(0, static_cast<Index>(sources_.size()), chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      if (offers_[i] != 0) places_[static_cast<std::size_t>(sources_[i]) + 1] = 0;
  });
}

/// Whether a tetrahedron is not a target yet; it is from now on.
bool Offers::choose(std::int32_t t) {
  std::atomic_ref<std::uint8_t> chosen(chosen_[t]);
  return chosen.load(std::memory_order_relaxed) == 0 && chosen.exchange(1, std::memory_order_relaxed) == 0;
}

void Offers::set(Index i, const std::array<double, 4>& volumes, const mesh::Point& velocity) {
  const Index s = i;
  if (!(volumes[0] > 0 || volumes[1] > 0 || volumes[2] > 0 || volumes[3] > 0)) return;
  offers_[s] = 1;
  sources_of_[s + 1] = {volumes, velocity};
  places_[static_cast<std::size_t>(sources_[s]) + 1] = static_cast<std::int32_t>(s + 1);
  std::vector<std::int32_t>& targets = targets_[s / static_cast<std::size_t>(chunk)];
  const mesh::Tet& n = graph_.neighbours(sources_[s]);
  for (std::size_t k = 0; k < 4; ++k)
    if (volumes[k] > 0 && choose(n[k])) targets.push_back(n[k]);
}

/// Asks for the memory that targets further on will need: first what says where their sources are, then these.
void Offers::fetch_sources(const std::vector<std::int32_t>& targets, std::size_t i, const TetWater& water) const {
  constexpr std::size_t near = 6, far = 16;
  if (i + far < targets.size()) {
    const std::int32_t t = targets[i + far];
    __builtin_prefetch(&water.velocity[t], 1);
    __builtin_prefetch(&water.volume[t], 1);
    for (const std::int32_t n : graph_.neighbours(t)) __builtin_prefetch(&places_[n + 1]);
  }
  if (i + near < targets.size())
    for (const std::int32_t n : graph_.neighbours(targets[i + near])) __builtin_prefetch(&sources_of_[places_[n + 1]], 1);
}

/// Hands to a target what it has room for. Returns how much. Who offers nothing gives nothing: it is no exception, since which
/// neighbours do is not predictable.
double Offers::hand_over(std::int32_t target, const TetWater& water, const Quantum& quantum, double room) {
  const mesh::Tet& n = graph_.neighbours(target);
  std::array<Source*, 4> source;
  std::array<double, 4> offered;
  for (std::size_t f = 0; f < 4; ++f) {
    source[f] = &sources_of_[places_[n[f] + 1]];
    offered[f] = source[f]->volume[graph_.back_face(target, f)];
  }
  const double all = ((offered[0] + offered[1]) + offered[2]) + offered[3];
  if (all > room)
    for (std::size_t f = 0; f < 4; ++f) {
      if (!(offered[f] > 0)) continue;
      offered[f] = quantum.share(room, offered[f], all);
      source[f]->volume[graph_.back_face(target, f)] = offered[f];
    }
  mesh::Point momentum = mesh::Point::Zero();
  for (std::size_t f = 0; f < 4; ++f) momentum += offered[f] * source[f]->velocity;
  const double volume = ((offered[0] + offered[1]) + offered[2]) + offered[3];
  water.mix(target, volume, momentum);
  return volume;
}

std::size_t Offers::nbytes() const {
  std::size_t bytes = places_.size() * 4 + sources_of_.capacity() * sizeof(Source) + offers_.capacity() + chosen_.size();
  for (const auto& list : targets_) bytes += list.capacity() * 4;
  return bytes;
}

}  // namespace meniscus::fluids
