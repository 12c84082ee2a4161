#include "meniscus/fluids/tet_vof/conservation/velocity_correction.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::fluids {
namespace {

constexpr Index vertex_chunk = 1024;
constexpr Index scan_chunk = 1 << 14;
/// How far ahead memory is asked for: that of a tetrahedron, and that of its neighbours.
constexpr Index far = 16, near = 8;
/// A tetrahedron that lacks no more than this counts as full, quanta.
constexpr double debris_quanta = 16;

/// Whether water of a tetrahedron is held up by that of a neighbour of rank `level`: it has a higher rank, or the same and
/// nothing lower beside it. Ranks count across corners, so that many tetrahedra have none of a lower rank across a face.
bool rests_on(const WaterRoom& room, std::int32_t t, std::int32_t level, bool whole) {
  const std::int32_t own = room.ranks[t];
  if (own != level) return own > level;
  if (own == 0 || !whole) return false;
  for (const std::int32_t n : room.graph.neighbours(t))
    if (n >= 0 && room.ranks[n] >= 0 && room.ranks[n] < own) return false;
  return true;
}

}  // namespace

mesh::Point VelocityCorrection::correct(const TetWater& water, const WaterRoom& room, std::span<const mesh::Point> normals,
                                        std::span<const mesh::Point> solid, std::int32_t highest, bool whole,
                                        const Quantum& quantum) {
  const auto levels = static_cast<std::size_t>(highest + 1);
  if (queue_.size() < levels) queue_.resize(levels);
  for (auto& q : queue_) q.clear();
  const auto scans = static_cast<std::size_t>((graph_.size() + scan_chunk - 1) / scan_chunk);
  if (pieces_.size() < scans) pieces_.resize(scans);
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    auto& found = pieces_[b / scan_chunk];
    found.clear();
    for (Index i = b; i < e; ++i)
      if (room.ranks[i] == 0 && water.volume[i] > 0) found.push_back(static_cast<std::int32_t>(i));
  });
  if (levels > 0)
    for (std::size_t p = 0; p < scans; ++p) queue_[0].insert(queue_[0].end(), pieces_[p].begin(), pieces_[p].end());
  const auto is_seen = [&](std::int32_t t) {
    return std::atomic_ref<std::uint8_t>(seen_[t]).load(std::memory_order_relaxed) != 0;
  };
  const auto see = [&](std::int32_t t) {
    return std::atomic_ref<std::uint8_t>(seen_[t]).exchange(1, std::memory_order_relaxed) == 0;
  };
  mesh::Point impulse = mesh::Point::Zero();
  for (std::size_t level = 0; level < levels; ++level) {
    auto& list = queue_[level];
    // First those that are reached from lower ranks, then, ring by ring, those beside them that no lower rank touches across a
    // face.
    for (std::size_t first = 0; first < list.size();) {
      const std::size_t end = list.size();
      // Which thread has found them first does not matter.
      sort_.sort(std::span(list).subspan(first), graph_.size());
      const auto count = static_cast<Index>(end - first);
      const auto pieces = static_cast<std::size_t>((count + vertex_chunk - 1) / vertex_chunk);
      if (pieces_.size() < pieces) pieces_.resize(pieces);
      impulse_.assign(pieces, mesh::Point::Zero());
      parallel_for(0, count, vertex_chunk, [&](Index b, Index e) {
        const Index piece = b / vertex_chunk;
        auto& next = pieces_[piece];
        next.clear();
        for (Index i = b; i < e; ++i) {
          if (i + far < e) {
            const std::int32_t t = list[first + static_cast<std::size_t>(i + far)];
            const Index at = t;
            __builtin_prefetch(&water.velocity[at], 1);
            __builtin_prefetch(&normals[at]);
            __builtin_prefetch(&solid[at]);
            __builtin_prefetch(&water.volume[at]);
            __builtin_prefetch(&room.capacity[at]);
            __builtin_prefetch(&graph_.neighbours(t));
          }
          if (i + near < e)
            for (const std::int32_t n : graph_.neighbours(list[first + static_cast<std::size_t>(i + near)])) {
              const Index at = std::max(n, 0);
              __builtin_prefetch(&seen_[at], 1);
              __builtin_prefetch(&room.ranks[at]);
              __builtin_prefetch(&graph_.neighbours(std::max(n, 0)));
            }
          const std::int32_t t = list[first + static_cast<std::size_t>(i)];
          const Index at = t;
          const double c = (solid[at] - water.velocity[at]).dot(normals[at]);
          if (!(c > 0)) continue;
          water.velocity[at] += c * normals[at];
          impulse_[piece] += (water.volume[at] * c) * normals[at];
          // A column of water hands it on only where it is full.
          if (water.volume[at] < room.capacity[at] - debris_quanta * quantum.size()) continue;
          for (const std::int32_t n : graph_.neighbours(t))
            if (n >= 0 && !is_seen(n) && rests_on(room, n, static_cast<std::int32_t>(level), whole) && water.volume[n] > 0 &&
                see(n))
              next.push_back(n);
        }
      });
      first = end;
      for (std::size_t p = 0; p < pieces; ++p) {
        impulse += impulse_[p];
        for (const std::int32_t t : pieces_[p]) queue_[room.ranks[t]].push_back(t);
      }
    }
  }
  std::size_t visited = 0;
  for (const auto& list : queue_) visited += list.size();
  // One by one where these are few: a list names them in another order than that of memory.
  if (visited > seen_.size() / 32)
    std::fill(seen_.begin(), seen_.end(), std::uint8_t{0});
  else
    for (const auto& list : queue_)
      for (const std::int32_t t : list) seen_[t] = 0;
  return impulse;
}

std::size_t VelocityCorrection::nbytes() const {
  std::size_t bytes = seen_.size() + sort_.nbytes();
  for (const auto& q : queue_) bytes += q.capacity() * 4;
  for (const auto& p : pieces_) bytes += p.capacity() * 4;
  return bytes;
}

}  // namespace meniscus::fluids
