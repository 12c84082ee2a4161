#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

#include "meniscus/fluids/tet_vof/way_out.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace meniscus::fluids {
namespace {

/// Part of its capacity by which a tetrahedron may be above it.
constexpr double tolerance = 1e-12;
/// Rounds in which a source is done or its at most four neighbours lose their room one by one.
constexpr int most_rounds = 4;
/// How far beyond the boundary water is put that leaves, in units of the root of twice the area of the face.
constexpr double beyond = 0.05;

/// Where water that leaves a tetrahedron at the boundary is put: just beyond a face without a neighbour; in the middle where
/// there is none.
mesh::Point place_outside(const WaterRoom& room, std::int32_t t) {
  std::array<mesh::Point, 4> x;
  for (std::size_t k = 0; k < 4; ++k) x[k] = room.positions[static_cast<std::size_t>(room.graph.tet(t)[k])];
  for (std::size_t k = 0; k < 4; ++k) {
    if (room.graph.neighbours(t)[k] >= 0) continue;
    const auto& f = mesh::tet_faces[k];
    const mesh::Point middle = (x[f[0]] + x[f[1]] + x[f[2]]) / 3;
    const mesh::Point normal = (x[f[1]] - x[f[0]]).cross(x[f[2]] - x[f[0]]);
    const double side = (middle - x[k]).dot(normal) < 0 ? -1 : 1;
    const double area = normal.norm();
    return area > 0 ? mesh::Point(middle + normal * (side * beyond / std::sqrt(area))) : middle;
  }
  return 0.25 * ((x[0] + x[1]) + (x[2] + x[3]));
}

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
  const auto i = static_cast<std::size_t>(t);
  const double over = water.volume[i] - room.capacity[i];
  if (!(over > std::min(crumbs * quantum_.size(), tolerance * room.capacity[i]))) return 0;
  return water.volume[i] - quantum_.floor(room.capacity[i]);
}

double Overflow::free_of(std::int32_t t, const TetWater& water, const WaterRoom& room) const {
  const auto i = static_cast<std::size_t>(t);
  const double v = quantum_.floor(std::max(room.capacity[i] - water.volume[i], 0.0));
  return v >= crumbs * quantum_.size() ? v : 0;
}

/// Lists the tetrahedra above capacity, ascending; without `boundary`, not those at the boundary of the mesh.
void Overflow::collect(const TetWater& water, const WaterRoom& room, bool boundary) {
  const auto pieces = static_cast<std::size_t>((graph_.size() + scan_chunk - 1) / scan_chunk);
  if (pieces_.size() < pieces) pieces_.resize(pieces);
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    auto& found = pieces_[static_cast<std::size_t>(b / scan_chunk)];
    found.clear();
    for (Index i = b; i < e; ++i) {
      const auto t = static_cast<std::int32_t>(i);
      if (water.volume[static_cast<std::size_t>(i)] > room.capacity[static_cast<std::size_t>(i)] &&
          excess_of(t, water, room) > 0 && (boundary || !graph_.at_boundary(t)))
        found.push_back(t);
    }
  });
  sources_.clear();
  for (std::size_t p = 0; p < pieces; ++p) sources_.insert(sources_.end(), pieces_[p].begin(), pieces_[p].end());
}

/// Takes from the sources what their neighbours have taken.
void Overflow::settle(const TetWater& water) {
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      if (!offers_.offers(i)) continue;
      const auto s = static_cast<std::size_t>(i);
      const auto t = static_cast<std::size_t>(sources_[s]);
      const double v = offers_.taken(i);
      water.volume[t] -= v;
      excess_[s] -= v;
      if (water.volume[t] == 0) water.velocity[t].setZero();
    }
  });
}

/// Asks for the memory that sources further on in the list will need: they are scattered over the mesh.
void Overflow::fetch_neighbours(Index i, Index end, const TetWater& water, const WaterRoom& room) const {
  constexpr Index near = 4, far = 12;
  if (i + far < end) __builtin_prefetch(&graph_.neighbours(sources_[static_cast<std::size_t>(i + far)]));
  if (i + near >= end) return;
  for (const std::int32_t n : graph_.neighbours(sources_[static_cast<std::size_t>(i + near)])) {
    const auto at = static_cast<std::size_t>(std::max(n, 0));
    __builtin_prefetch(&room.ranks[at]);
    __builtin_prefetch(&room.capacity[at]);
    __builtin_prefetch(&water.volume[at]);
    __builtin_prefetch(&graph_.neighbours(static_cast<std::int32_t>(at)));
  }
}

/// Offers to the neighbours with room, as evenly as they can take it. Whether there are any.
bool Overflow::offer_to_neighbours(const TetWater& water, const WaterRoom& room) {
  std::atomic<bool> any = false;
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    bool some = false;
    for (Index i = b; i < e; ++i) {
      const auto s = static_cast<std::size_t>(i);
      fetch_neighbours(i, e, water, room);
      std::array<double, 4> offer{};
      if (excess_[s] > 0) {
        std::array<double, 4> free{};
        for_open_neighbours(room, sources_[s], [&](std::size_t k, std::int32_t n) { free[k] = free_of(n, water, room); });
        offer = fill_evenly(excess_[s], free, quantum_);
        some = some || offer != std::array<double, 4>{};
      }
      offers_.set(i, offer);
    }
    if (some) any = true;
  });
  return any;
}

/// Offers the rest to neighbours of higher ranks, in equal parts. Whether there are any.
bool Overflow::offer_outward(const WaterRoom& room) {
  std::atomic<bool> any = false;
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    bool some = false;
    for (Index i = b; i < e; ++i) {
      const auto s = static_cast<std::size_t>(i);
      std::array<double, 4> offer{};
      if (excess_[s] > 0) {
        const std::int32_t own = order_[static_cast<std::size_t>(sources_[s])];
        int higher = 0;
        const auto for_higher = [&](auto&& f) {
          for_open_neighbours(room, sources_[s], [&](std::size_t k, std::int32_t n) {
            if (order_[static_cast<std::size_t>(n)] > own) f(k);
          });
        };
        for_higher([&](std::size_t) { ++higher; });
        if (higher > 0) {
          double rest = excess_[s];
          const double part = quantum_.floor(rest / higher);
          for_higher([&](std::size_t k) {
            offer[k] = --higher > 0 ? part : rest;
            rest -= offer[k];
          });
          some = true;
        }
      }
      offers_.set(i, offer);
    }
    if (some) any = true;
  });
  return any;
}

/// Sends what has no neighbour of a higher rank to the nearest tetrahedra that have one, or out of the mesh.
void Overflow::push_far(const TetWater& water, const WaterRoom& room, std::int32_t level, std::vector<LeftWater>& left,
                        Workspace& workspace) {
  const auto count = static_cast<Index>(sources_.size());
  parcels_.begin(offers_.pieces());
  left_.begin(offers_.pieces());
  parallel_for(0, count, Offers::chunk, [&](Index b, Index e) {
    auto& parcels = parcels_.piece(b / Offers::chunk);
    std::vector<std::int32_t> found, visited;
    for (Index i = b; i < e; ++i) {
      const auto s = static_cast<std::size_t>(i);
      if (!(excess_[s] > 0)) continue;
      const std::int32_t t = sources_[s];
      const auto at = static_cast<std::size_t>(t);
      // In closed parts what is left has to wait until there is room.
      if (!room.closed.empty() && room.closed[at] != 0) continue;
      WayOut way = WayOut::boundary;
      if (room.ranks[at] == rank_disabled)
        found.assign(1, t);
      else
        way = search_outward(
            graph_, room.ranks, t, room.open_boundary, [&](std::int32_t n) { return free_of(n, water, room) > 0; }, found,
            visited);
      if (way == WayOut::none) continue;
      double rest = excess_[s];
      const double part = quantum_.floor(rest / static_cast<double>(found.size()));
      for (std::size_t j = 0; j < found.size(); ++j) {
        const double v = j + 1 < found.size() ? part : rest;
        rest -= v;
        if (v == 0) continue;
        if (way != WayOut::boundary) {
          parcels.push_back({v, water.velocity[at], found[j]});
        } else {
          const mesh::Point centre = place_outside(room, found[j]);
          left_.piece(b / Offers::chunk).push_back({centre, water.velocity[at], v, found[j]});
        }
      }
      water.volume[at] -= excess_[s];
      excess_[s] = 0;
      if (water.volume[at] == 0) water.velocity[at].setZero();
    }
  });
  for (Index p = 0; p < offers_.pieces(); ++p)
    for (const Parcel& parcel : parcels_.piece(p)) {
      enqueue(parcel.target);
      // What has room may have a lower rank; then another sweep has to look at it.
      if (order_[static_cast<std::size_t>(parcel.target)] <= level) again_.push_back(parcel.target);
    }
  parcels_.add_to(water, workspace);
  left_.move_to(left);
}

void Overflow::enqueue(std::int32_t t) {
  queue_[static_cast<std::size_t>(order_[static_cast<std::size_t>(t)] - rank_disabled)].push_back(t);
}

/// Orders closed parts by how near room is, in steps across faces through full tetrahedra: the nearer, the higher. Returns the
/// highest value.
std::int32_t Overflow::order_closed(const TetWater& water, const WaterRoom& room, std::int32_t highest) {
  constexpr std::int32_t unknown = -1;
  closed_order_.assign(room.ranks.begin(), room.ranks.end());
  order_ = closed_order_;
  const auto scans = static_cast<std::size_t>((graph_.size() + scan_chunk - 1) / scan_chunk);
  if (pieces_.size() < scans) pieces_.resize(scans);
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    auto& found = pieces_[static_cast<std::size_t>(b / scan_chunk)];
    found.clear();
    for (Index i = b; i < e; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (room.closed[at] == 0) continue;
      const bool free = free_of(static_cast<std::int32_t>(i), water, room) > 0;
      closed_order_[at] = free ? 0 : unknown;
      if (free) found.push_back(static_cast<std::int32_t>(i));
    }
  });
  std::vector<std::int32_t>& front = sources_;
  front.clear();
  for (std::size_t p = 0; p < scans; ++p) front.insert(front.end(), pieces_[p].begin(), pieces_[p].end());
  std::int32_t steps = 0;
  for (; !front.empty(); ++steps) {
    const auto count = static_cast<Index>(front.size());
    const auto pieces = static_cast<std::size_t>((count + Offers::chunk - 1) / Offers::chunk);
    if (pieces_.size() < pieces) pieces_.resize(pieces);
    parallel_for(0, count, Offers::chunk, [&](Index b, Index e) {
      auto& found = pieces_[static_cast<std::size_t>(b / Offers::chunk)];
      found.clear();
      for (Index i = b; i < e; ++i)
        for_open_neighbours(room, front[static_cast<std::size_t>(i)], [&](std::size_t, std::int32_t n) {
          std::atomic_ref<std::int32_t> v(closed_order_[static_cast<std::size_t>(n)]);
          std::int32_t expected = unknown;
          if (v.load(std::memory_order_relaxed) == unknown &&
              v.compare_exchange_strong(expected, steps + 1, std::memory_order_relaxed))
            found.push_back(n);
        });
    });
    front.clear();
    for (std::size_t p = 0; p < pieces; ++p) front.insert(front.end(), pieces_[p].begin(), pieces_[p].end());
  }
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i)
      if (room.closed[i] != 0) closed_order_[i] = closed_order_[i] == unknown ? 0 : steps - closed_order_[i];
  });
  return std::max(highest, steps);
}

/// What neighbours across faces have room for goes there at once, whatever the ranks: the sweep then has less to carry.
void Overflow::fill_everywhere(const TetWater& water, const WaterRoom& room) {
  collect(water, room, true);
  std::erase_if(sources_, [&](std::int32_t t) { return room.ranks[static_cast<std::size_t>(t)] < 0; });
  measure_excess(water, room);
  offers_.begin(sources_, water.velocity);
  for (int round = 0; round < most_rounds && offer_to_neighbours(water, room); ++round) {
    offers_.take(water, quantum_, [&](std::int32_t t) { return free_of(t, water, room); }, [](std::int32_t, Index) {});
    settle(water);
  }
  offers_.end();
}

/// What each of the sources has to give away.
void Overflow::measure_excess(const TetWater& water, const WaterRoom& room) {
  excess_.resize(sources_.size());
  parallel_for(0, static_cast<Index>(sources_.size()), Offers::chunk, [&](Index b, Index e) {
    for (auto s = static_cast<std::size_t>(b); s < static_cast<std::size_t>(e); ++s)
      excess_[s] = excess_of(sources_[s], water, room);
  });
}

void Overflow::push_out(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
                        Workspace& workspace) {
  // Room near by may be less than what comes there; then it is looked for again.
  constexpr int most_sweeps = 16;
  order_ = room.ranks;
  fill_everywhere(water, room);
  for (int n = 0; n < most_sweeps; ++n) {
    const double before = enclosed_volume_;
    const std::int32_t top = room.closed.empty() ? highest : order_closed(water, room, highest);
    // Closed parts have a new order; else nothing but what came to lower ranks is left.
    if (n == 0 || !room.closed.empty())
      collect(water, room, true);
    else
      sources_ = again_;
    again_.clear();
    sweep(water, room, top, left, workspace);
    const bool closed = enclosed_ > 0 && !room.closed.empty() && (n == 0 || enclosed_volume_ < before);
    if (again_.empty() && !closed) break;
  }
}

void Overflow::sweep(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
                     Workspace& workspace) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto levels = static_cast<std::size_t>(highest - rank_disabled + 1);
  if (queue_.size() < levels) queue_.resize(levels);
  for (auto& q : queue_) q.clear();
  for (const std::int32_t t : sources_) enqueue(t);
  enclosed_ = 0;
  enclosed_volume_ = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    sources_.assign(queue_[level].begin(), queue_[level].end());
    if (!std::is_sorted(sources_.begin(), sources_.end())) std::sort(sources_.begin(), sources_.end());
    sources_.erase(std::unique(sources_.begin(), sources_.end()), sources_.end());
    if (sources_.empty()) continue;
    measure_excess(water, room);
    offers_.begin(sources_, water.velocity);
    while (static_cast<std::int32_t>(level) + rank_disabled >= 0 && offer_to_neighbours(water, room)) {
      offers_.take(water, quantum_, [&](std::int32_t t) { return free_of(t, water, room); }, [](std::int32_t, Index) {});
      settle(water);
    }
    if (static_cast<std::int32_t>(level) + rank_disabled >= 0 && offer_outward(room)) {
      const auto pieces = static_cast<std::size_t>(offers_.pieces());
      if (pieces_.size() < pieces) pieces_.resize(pieces);
      for (auto& p : pieces_) p.clear();
      offers_.take(
          water, quantum_, [&](std::int32_t) { return unlimited; },
          [&](std::int32_t t, Index piece) { pieces_[static_cast<std::size_t>(piece)].push_back(t); });
      settle(water);
      for (std::size_t p = 0; p < pieces; ++p)
        for (const std::int32_t t : pieces_[p]) enqueue(t);
    }
    push_far(water, room, static_cast<std::int32_t>(level) + rank_disabled, left, workspace);
    for (const double v : excess_)
      if (v > 0) {
        ++enclosed_;
        enclosed_volume_ += v;
      }
    offers_.end();
  }
}

std::size_t Overflow::nbytes() const {
  std::size_t bytes = offers_.nbytes() + sources_.capacity() * 4 + excess_.capacity() * 8 + parcels_.nbytes();
  for (const auto& p : pieces_) bytes += p.capacity() * 4;
  for (const auto& q : queue_) bytes += q.capacity() * 4;
  return bytes;
}

}  // namespace meniscus::fluids
