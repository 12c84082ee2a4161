// The stages of Overflow that hand water to neighbours whatever their room: debris, and smear.
#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

#include <limits>

namespace meniscus::fluids {

void Overflow::merge_debris(const TetWater& water, const WaterRoom& room, double threshold, Workspace& workspace) {
  const Index pieces = (graph_.size() + scan_chunk - 1) / scan_chunk;
  parcels_.begin(pieces);
  if (static_cast<Index>(pieces_.size()) < pieces) pieces_.resize(pieces);
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    auto& parcels = parcels_.piece(b / scan_chunk);
    auto& merged = pieces_[b / scan_chunk];
    merged.clear();
    for (Index i = b; i < e; ++i) {
      const Index at = i;
      if (!(water.volume[at] > 0 && water.volume[at] < threshold)) continue;
      double most = 0;
      std::int32_t target = -1;
      for_open_neighbours(room, static_cast<std::int32_t>(i), [&](std::size_t, std::int32_t n) {
        const double v = water.volume[n];
        if (!(v > most || (v == most && n < target))) return;
        most = v;
        target = n;
      });
      if (!(most >= threshold)) continue;
      parcels.push_back({water.volume[at], water.velocity[at], target});
      merged.push_back(static_cast<std::int32_t>(i));
    }
  });
  for (Index p = 0; p < pieces; ++p)
    for (const std::int32_t t : pieces_[p]) {
      water.volume[t] = 0;
      water.velocity[t].setZero();
    }
  parcels_.add_to(water, workspace);
}

void Overflow::smear(const TetWater& water, const WaterRoom& room, Index iterations) {
  for (Index n = 0; n < iterations; ++n) {
    collect(water, room, false, false);
    if (sources_.empty()) return;
    offers_.begin(sources_);
    // Sources may be neighbours of sources: all give first, and then all take.
    parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const std::int32_t t = sources_[i];
        std::array<double, 4> offer{};
        int open = 0;
        for_open_neighbours(room, t, [&](std::size_t, std::int32_t) { ++open; });
        if (room.ranks[t] >= 0 && open > 0) {
          const double part = quantum_.floor(excess_of(t, water, room) / open);
          for_open_neighbours(room, t, [&](std::size_t k, std::int32_t) { offer[k] = part; });
        }
        offers_.set(i, offer, water.velocity[t]);
        water.volume[t] -= (offer[0] + offer[1]) + (offer[2] + offer[3]);
      }
    });
    offers_.take(
        water, quantum_, [](std::int32_t) { return std::numeric_limits<double>::infinity(); },
        [](std::int32_t, Index, double) {});
    parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const Index t = sources_[i];
        if (water.volume[t] == 0) water.velocity[t].setZero();
      }
    });
    offers_.end();
  }
}

}  // namespace meniscus::fluids
