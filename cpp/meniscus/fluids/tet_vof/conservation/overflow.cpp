#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::fluids {
namespace {

/// Part of its capacity by which a tetrahedron may be above it.
constexpr double tolerance = 1e-12;
/// Rounds in which a source is done or its at most four neighbours lose their room one by one.
constexpr int most_rounds = 4;
/// Parts of a volume for those with room: all the same, except that none gets more than it has room for.
std::array<double, 4> fill_evenly(double volume, const std::array<double, 4>& room, const Quantum& quantum) {
  std::array<double, 4> part{};
  std::array<bool, 4> filled{};
  double rest = volume;
  for (int round = 0; round < 4; ++round) {
    int open = 0;
    for (std::size_t k = 0; k < 4; ++k) open += room[k] > 0 && !filled[k];
    if (open == 0) return part;
    bool again = false;
    const double even = rest / open;
    for (std::size_t k = 0; k < 4; ++k)
      if (room[k] > 0 && !filled[k] && room[k] <= even) {
        part[k] = room[k];
        filled[k] = again = true;
      }
    rest = volume - ((part[0] + part[1]) + (part[2] + part[3]));
    if (again) continue;
    // All have room for an even part; what rounding leaves goes to the first.
    const double each = quantum.floor(rest / open);
    double first = rest - each * (open - 1);
    for (std::size_t k = 0; k < 4; ++k)
      if (room[k] > 0 && !filled[k]) {
        part[k] = std::min(first, room[k]);
        first = each;
      }
    return part;
  }
  return part;
}

}  // namespace

/// What a tetrahedron holds above its capacity; nothing where that is within rounding of what it has room for.
double Overflow::excess_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const {
  const Index i = t;
  const double over = water.volume[i] - room.capacity[i];
  if (!(over > std::min(debris_quanta * quantum_.size(), tolerance * room.capacity[i]))) return 0;
  return water.volume[i] - quantum_.floor(room.capacity[i]);
}

double Overflow::free_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const {
  const Index i = t;
  const double v = quantum_.floor(std::max(room.capacity[i] - water.volume[i], 0.0));
  return v >= debris_quanta * quantum_.size() ? v : 0;
}

/// Finds the room of a range of tetrahedra. Without branches, so that several are found at a time.
void Overflow::measure_room(Index begin, Index end, const TetWater& water, const WaterRoom& room) {
  const double least = debris_quanta * quantum_.size();
  for (Index i = begin; i < end; ++i) {
    const double v = quantum_.floor_of_small(std::max(room.capacity[i] - water.volume[i], 0.0));
    room_[i] = (v >= least) & (room.ranks[i] >= 0) ? v : 0.0;
  }
}

/// Lists the tetrahedra above capacity, ascending; without `boundary`, not those at the boundary of the mesh. With `measure`,
/// also finds the room of all.
void Overflow::collect(const TetWater& water, const WaterRoom& room, bool boundary, bool measure) {
  static_assert(scan_chunk % row == 0);
  if (measure) room_.resize(graph_.size());
  lists_.fill(graph_.size(), scan_chunk, sources_, [&](Index i, std::vector<std::int32_t>& found) {
    const auto t = static_cast<std::int32_t>(i);
    const Index at = i;
    if (measure && i % row == 0) measure_room(i, std::min(i + row, graph_.size()), water, room);
    // Most of a mesh is dry.
    if (water.volume[at] == 0) return;
    const bool above = water.volume[at] > room.capacity[at];
    if (above && excess_of(t, water, room) > 0 && (boundary || !graph_.at_boundary(t))) found.push_back(t);
  });
}

/// Takes from the sources what their neighbours have taken.
void Overflow::settle(const TetWater& water) {
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      if (!offers_.offers(i)) continue;
      const Index s = i;
      const Index t = sources_[s];
      const double v = offers_.taken(i);
      water.volume[t] -= v;
      excess_[s] -= v;
      if (water.volume[t] == 0) water.velocity[t].setZero();
    }
  });
}

/// Takes sources without an excess off the list.
void Overflow::drop_settled() {
  std::size_t kept = 0;
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    if (!(excess_[s] > 0)) continue;
    sources_[kept] = sources_[s];
    excess_[kept++] = excess_[s];
  }
  sources_.resize(kept);
  excess_.resize(kept);
}

/// Asks for the memory that sources further on in the list will need: they are scattered over the mesh.
void Overflow::fetch_neighbours(Index i, Index end) const {
  constexpr Index near = 8, far = 16;
  if (i + far < end) __builtin_prefetch(&graph_.neighbours(sources_[i + far]));
  if (i + near >= end) return;
  for (const std::int32_t n : graph_.neighbours(sources_[i + near])) {
    __builtin_prefetch(&room_[std::max(n, 0)]);
    offers_.fetch(std::max(n, 0));
  }
}

/// Gives the excess of the sources to their neighbours with room, as evenly as they can take it, in rounds: until it is gone or
/// no neighbour has room. Sources that keep some stay in the list.
void Overflow::fill_neighbours(const TetWater& water) {
  stuck_.clear();
  stuck_excess_.clear();
  for (int round = 0; round < most_rounds && !sources_.empty(); ++round) {
    offers_.begin(sources_);
    parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const Index s = i;
        fetch_neighbours(i, e);
        std::array<double, 4> free{};
        bool some = false;
        const mesh::Tet& n = graph_.neighbours(sources_[s]);
        for (std::size_t k = 0; k < 4; ++k) {
          free[k] = n[k] < 0 ? 0 : room_[n[k]];
          some = some || free[k] > 0;
        }
        if (some) offers_.set(i, fill_evenly(excess_[s], free, quantum_), water.velocity[sources_[s]]);
      }
    });
    offers_.take(
        water, quantum_, [&](std::int32_t t) { return room_[t]; },
        [&](std::int32_t t, Index, double v) {
          double& left = room_[t];
          left = left - v >= debris_quanta * quantum_.size() ? left - v : 0;
        });
    settle(water);
    offers_.end();
    // Room does not grow: who has found none is done, and so is who has given all.
    std::size_t next = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (!(excess_[s] > 0)) continue;
      if (offers_.offers(static_cast<Index>(s))) {
        sources_[next] = sources_[s];
        excess_[next++] = excess_[s];
      } else {
        stuck_.push_back(sources_[s]);
        stuck_excess_.push_back(excess_[s]);
      }
    }
    sources_.resize(next);
    excess_.resize(next);
  }
  stuck_.insert(stuck_.end(), sources_.begin(), sources_.end());
  stuck_excess_.insert(stuck_excess_.end(), excess_.begin(), excess_.end());
  std::swap(sources_, stuck_);
  std::swap(excess_, stuck_excess_);
}

/// Offers the rest to neighbours of higher ranks, in equal parts. Whether there are any.
bool Overflow::offer_outward(const TetWater& water, const WaterRoom& room) {
  std::atomic<bool> any = false;
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    bool some = false;
    for (Index i = b; i < e; ++i) {
      const Index s = i;
      const std::int32_t own = order_[sources_[s]];
      int higher = 0;
      const auto for_higher = [&](auto&& f) {
        for_open_neighbours(room, sources_[s], [&](std::size_t k, std::int32_t n) {
          if (order_[n] > own) f(k);
        });
      };
      for_higher([&](std::size_t) { ++higher; });
      if (higher == 0) continue;
      std::array<double, 4> offer{};
      double rest = excess_[s];
      const double part = quantum_.floor(rest / higher);
      for_higher([&](std::size_t k) {
        offer[k] = --higher > 0 ? part : rest;
        rest -= offer[k];
      });
      offers_.set(i, offer, water.velocity[sources_[s]]);
      some = true;
    }
    if (some) any = true;
  });
  return any;
}

/// What each of the sources has to give away.
void Overflow::measure_excess(const TetWater& water, const WaterRoom& room) {
  excess_.resize(sources_.size());
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    for (Index s = b; s < e; ++s) excess_[s] = excess_of(sources_[s], water, room);
  });
}

std::size_t Overflow::nbytes() const {
  std::size_t bytes = offers_.nbytes() + parcels_.nbytes() + lists_.nbytes() + sort_.nbytes() + waiting_.capacity() +
                      (sources_.capacity() + stuck_.capacity() + room_order_.capacity() + front_.capacity()) * 4 +
                      (excess_.capacity() + stuck_excess_.capacity() + room_.capacity()) * 8;
  for (const auto& f : far_) bytes += f.goals.capacity() * sizeof(Goal);
  for (const auto& p : pieces_) bytes += p.capacity() * 4;
  for (const auto& q : queue_) bytes += q.capacity() * 4;
  return bytes;
}

}  // namespace meniscus::fluids
