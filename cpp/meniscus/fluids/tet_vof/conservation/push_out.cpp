// The sweep of Overflow that pushes excess outward.
#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace meniscus::fluids {
namespace {

/// How far beyond the boundary water is put that leaves, in units of the root of twice the area of the face.
constexpr double beyond = 0.05;
/// How many steps across faces farther than room water is that is outside of the mesh: what random points bring too much lacks
/// near by. Farther ways bring no more, and water of a mesh that shrinks is to go out and not up.
constexpr std::int32_t detour = 4;

/// Where water that leaves a tetrahedron at the boundary is put: just beyond a face without a neighbour; in the middle where
/// there is none.
mesh::Point place_outside(const WaterRoom& room, std::int32_t t) {
  std::array<mesh::Point, 4> x;
  for (std::size_t k = 0; k < 4; ++k) x[k] = room.positions[room.graph.tet(t)[k]];
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

}  // namespace

void Overflow::push_out(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
                        Workspace& workspace) {
  // Room near by may be less than what comes there; then it is looked for again.
  constexpr int most_sweeps = 64;
  // What finds too little room near by again and again goes out by ranks in the end.
  constexpr int sweeps_by_room = 8;
  order_ = room.ranks;
  collect(water, room, true, true);
  // What neighbours across faces have room for goes there at once, whatever the ranks: the sweep then has less to carry.
  std::vector<std::int32_t>& inside = again_;
  inside.clear();
  std::erase_if(sources_, [&](std::int32_t t) {
    if (room.ranks[t] >= 0) return false;
    inside.push_back(t);
    return true;
  });
  measure_excess(water, room);
  fill_neighbours(water);
  sources_.insert(sources_.end(), inside.begin(), inside.end());
  again_.clear();
  int stalled = 0;
  for (int n = 0; n < most_sweeps; ++n) {
    const double before = enclosed_volume_;
    for (const std::int32_t t : again_) waiting_[t] = 0;
    // Nothing but what came to lower ranks is left, or in closed parts all that is above capacity, in a new order.
    if (n > 0) sources_ = again_;
    std::int32_t top = highest;
    // What has found no room near by the first time does not look for it again before it leaves.
    const auto beside_water = n == 0 ? room.beside_water : std::span<const std::int32_t>();
    if (!room.closed.empty()) {
      top = order_by_room(room, highest, beside_water);
      collect(water, room, true, false);
    } else if (room.nearest_room && n < sweeps_by_room) {
      top = order_by_room(room, highest, beside_water);
    } else {
      order_ = room.ranks;
    }
    by_ranks_ = !room.nearest_room || n >= sweeps_by_room;
    again_.clear();
    sweep(water, room, top, left, workspace);
    // In a new order a sweep may bring nothing, and the next one something.
    stalled = n == 0 || enclosed_volume_ < before ? 0 : stalled + 1;
    const bool closed = enclosed_ > 0 && !room.closed.empty() && stalled < 2;
    if (again_.empty() && !closed) break;
  }
  for (const std::int32_t t : again_) waiting_[t] = 0;
}

void Overflow::sweep(const TetWater& water, const WaterRoom& room, std::int32_t highest, std::vector<LeftWater>& left,
                     Workspace& workspace) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto levels = static_cast<std::size_t>(highest - rank_disabled + 1);
  if (queue_.size() < levels) queue_.resize(levels);
  for (auto& q : queue_) q.clear();
  for (const std::int32_t t : sources_)
    if (claim(t)) enqueue(t);
  enclosed_ = 0;
  enclosed_volume_ = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    sources_.assign(queue_[level].begin(), queue_[level].end());
    if (sources_.empty()) continue;
    // In the order of memory, which is also one that does not depend on threads.
    sort_.sort(sources_, graph_.size());
    for (const std::int32_t t : sources_) waiting_[t] = 0;
    measure_excess(water, room);
    drop_settled();
    if (static_cast<std::int32_t>(level) + rank_disabled >= 0) {
      fill_neighbours(water);
      offers_.begin(sources_);
      if (offer_outward(water, room)) {
        const auto pieces = static_cast<std::size_t>(offers_.pieces());
        if (pieces_.size() < pieces) pieces_.resize(pieces);
        for (std::size_t p = 0; p < pieces; ++p) pieces_[p].clear();
        offers_.take(
            water, quantum_, [&](std::int32_t) { return unlimited; },
            [&](std::int32_t t, Index piece, double) {
              if (claim(t)) pieces_[piece].push_back(t);
            });
        settle(water);
        for (std::size_t p = 0; p < pieces; ++p)
          for (const std::int32_t t : pieces_[p]) enqueue(t);
      }
      offers_.end();
      drop_settled();
    }
    push_far(water, room, static_cast<std::int32_t>(level) + rank_disabled, left, workspace);
    for (const double v : excess_)
      if (v > 0) {
        ++enclosed_;
        enclosed_volume_ += v;
      }
  }
}

/// Sends what has no neighbour of a higher rank to the nearest tetrahedra that have one, or out of the mesh.
void Overflow::push_far(const TetWater& water, const WaterRoom& room, std::int32_t level, std::vector<LeftWater>& left,
                        Workspace& workspace) {
  const auto count = static_cast<Index>(sources_.size());
  if (count == 0) return;
  const Index pieces = (count + Offers::chunk - 1) / Offers::chunk;
  parcels_.begin(pieces);
  left_.begin(pieces);
  if (far_.size() < static_cast<std::size_t>(pieces)) far_.resize(pieces);
  parallel_for(0, count, Offers::chunk, [&](Index b, Index e) {
    auto& parcels = parcels_.piece(b / Offers::chunk);
    auto& [search, goals] = far_[b / Offers::chunk];
    goals.clear();
    for (Index i = b; i < e; ++i) {
      fetch_ways(room, i, e);
      const Index s = i;
      const std::int32_t t = sources_[s];
      const Index at = t;
      // In closed parts what is left has to wait until there is room.
      if (!room.closed.empty() && room.closed[at] != 0) continue;
      WayOut way = WayOut::boundary;
      if (room.ranks[at] == rank_disabled)
        search.stay(t);
      else
        way = search.run(graph_, room.ranks, t, room.open_boundary, by_ranks_, [&](std::int32_t n) { return room_[n] > 0; });
      if (way == WayOut::none) continue;
      const std::span<const std::int32_t> found = search.found();
      double rest = excess_[s];
      const double part = quantum_.floor(rest / static_cast<double>(found.size()));
      for (std::size_t j = 0; j < found.size(); ++j) {
        const double v = j + 1 < found.size() ? part : rest;
        rest -= v;
        if (v == 0) continue;
        if (way != WayOut::boundary) {
          parcels.push_back({v, water.velocity[at], found[j]});
          const bool first = claim(found[j]);
          if (first || way == WayOut::room) goals.push_back({found[j], order_[found[j]], first});
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
  parcels_.add_to(water, workspace);
  left_.move_to(left);
  parallel_for(0, pieces, 1, [&](Index b, Index) {
    for (const Goal& goal : far_[b].goals) {
      std::atomic_ref<double> free(room_[goal.tet]);
      if (free.load(std::memory_order_relaxed) > 0) free.store(free_of(goal.tet, water, room), std::memory_order_relaxed);
    }
  });
  for (Index p = 0; p < pieces; ++p)
    for (const Goal& goal : far_[p].goals) {
      if (!goal.first) continue;
      // What has room may have a lower rank; then another sweep has to look at it.
      if (goal.order <= level)
        again_.push_back(goal.tet);
      else
        queue_[goal.order - rank_disabled].push_back(goal.tet);
    }
}

/// Asks for the memory that the first steps of searches from sources further on will need.
void Overflow::fetch_ways(const WaterRoom& room, Index i, Index end) const {
  constexpr Index near = 4, far = 10;
  const auto fetch = [&](std::int32_t t) {
    __builtin_prefetch(&room.ranks[t]);
    __builtin_prefetch(&room_[t]);
  };
  if (i + far < end)
    for (const std::int32_t n : graph_.neighbours(sources_[i + far]))
      if (n >= 0) {
        __builtin_prefetch(&graph_.neighbours(n));
        fetch(n);
      }
  if (i + near < end)
    for (const std::int32_t n : graph_.neighbours(sources_[i + near]))
      if (n >= 0)
        for (const std::int32_t beyond : graph_.neighbours(n)) fetch(std::max(beyond, 0));
}

/// Whether a tetrahedron does not wait yet for its turn in the sweep; it does from now on.
bool Overflow::claim(std::int32_t t) {
  std::atomic_ref<std::uint8_t> waits(waiting_[t]);
  return waits.load(std::memory_order_relaxed) == 0 && waits.exchange(1, std::memory_order_relaxed) == 0;
}

void Overflow::enqueue(std::int32_t t) { queue_[order_[t] - rank_disabled].push_back(t); }

/// Orders tetrahedra by how near room is, or a boundary across which water leaves, in steps across faces through full ones: the
/// nearer, the higher. Where ranks say where to go, only those of closed parts. The boundaries `beside_water` count as
/// farther away. Returns the highest value.
std::int32_t Overflow::order_by_room(const WaterRoom& room, std::int32_t highest, std::span<const std::int32_t> beside_water) {
  constexpr std::int32_t unknown = -1;
  room_order_.resize(room.ranks.size());
  order_ = room_order_;
  const auto is_closed = [&](std::size_t t) { return !room.closed.empty() && room.closed[t] != 0; };
  const auto takes_part = [&](std::size_t t) { return room.nearest_room ? room.ranks[t] >= 0 : is_closed(t); };
  // The first step goes from the full ones, of which there are less than of the others.
  lists_.fill(graph_.size(), scan_chunk, front_, [&](Index i, std::vector<std::int32_t>& full) {
    const Index at = i;
    const auto t = static_cast<std::int32_t>(i);
    room_order_[at] = room.ranks[at];
    if (!takes_part(at)) return;
    const bool leads_out = room_[at] > 0 || (room.open_boundary && !is_closed(at) && graph_.at_boundary(t) &&
                                             !std::binary_search(beside_water.begin(), beside_water.end(), t));
    room_order_[at] = leads_out ? 0 : unknown;
    if (!leads_out) full.push_back(t);
  });
  const auto advance = [&](auto&& visit) {
    lists_.fill(static_cast<Index>(front_.size()), Offers::chunk, front_,
                [&](Index i, std::vector<std::int32_t>& found) { visit(front_[i], found); });
  };
  advance([&](std::int32_t t, std::vector<std::int32_t>& found) {
    bool beside = false;
    for_open_neighbours(room, t, [&](std::size_t, std::int32_t n) { beside = beside || (takes_part(n) && room_order_[n] == 0); });
    if (beside) found.push_back(t);
  });
  for (const std::int32_t t : front_) room_order_[t] = 1;
  std::int32_t steps = 1;
  for (; !front_.empty() || (steps <= detour && !beside_water.empty()); ++steps) {
    if (steps == detour)
      for (const std::int32_t t : beside_water) {
        if (!takes_part(t) || room_order_[t] != unknown) continue;
        room_order_[t] = steps;
        front_.push_back(t);
      }
    advance([&](std::int32_t t, std::vector<std::int32_t>& found) {
      for_open_neighbours(room, t, [&](std::size_t, std::int32_t n) {
        std::atomic_ref<std::int32_t> v(room_order_[n]);
        std::int32_t expected = unknown;
        if (v.load(std::memory_order_relaxed) == unknown &&
            v.compare_exchange_strong(expected, steps + 1, std::memory_order_relaxed))
          found.push_back(n);
      });
    });
  }
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      if (takes_part(i)) room_order_[i] = room_order_[i] == unknown ? 0 : steps - room_order_[i];
  });
  return std::max(highest, steps);
}

}  // namespace meniscus::fluids
