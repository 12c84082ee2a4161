#include "meniscus/fluids/tet_vof/velocity_correction.hpp"

#include <algorithm>

namespace meniscus::fluids {
namespace {

constexpr Index chunk = 1024;
constexpr Index scan_chunk = 1 << 14;
constexpr std::uint8_t seen = 1;
constexpr std::uint8_t changed = 2;
/// A tetrahedron that lacks no more than this counts as full, quanta.
constexpr double crumbs = 16;

}  // namespace

mesh::Point VelocityCorrection::correct(const TetWater& water, const WaterRoom& room, std::span<const mesh::Point> normals,
                                        std::span<const mesh::Point> solid, std::int32_t highest, const Quantum& quantum) {
  const auto levels = static_cast<std::size_t>(highest + 1);
  if (queue_.size() < levels) queue_.resize(levels);
  for (auto& q : queue_) q.clear();
  const auto scans = static_cast<std::size_t>((graph_.size() + scan_chunk - 1) / scan_chunk);
  if (pieces_.size() < scans) pieces_.resize(scans);
  parallel_for(0, graph_.size(), scan_chunk, [&](Index b, Index e) {
    auto& found = pieces_[static_cast<std::size_t>(b / scan_chunk)];
    found.clear();
    for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i)
      if (room.ranks[i] == 0 && water.volume[i] > 0) found.push_back(static_cast<std::int32_t>(i));
  });
  if (levels > 0)
    for (std::size_t p = 0; p < scans; ++p) queue_[0].insert(queue_[0].end(), pieces_[p].begin(), pieces_[p].end());
  mesh::Point impulse = mesh::Point::Zero();
  for (std::size_t level = 0; level < levels; ++level) {
    auto& list = queue_[level];
    std::sort(list.begin(), list.end());
    const auto count = static_cast<Index>(list.size());
    const auto pieces = static_cast<std::size_t>((count + chunk - 1) / chunk);
    if (pieces_.size() < pieces) pieces_.resize(pieces);
    impulse_.assign(pieces, mesh::Point::Zero());
    parallel_for(0, count, chunk, [&](Index b, Index e) {
      const auto piece = static_cast<std::size_t>(b / chunk);
      auto& next = pieces_[piece];
      next.clear();
      for (Index i = b; i < e; ++i) {
        const std::int32_t t = list[static_cast<std::size_t>(i)];
        const auto at = static_cast<std::size_t>(t);
        state_[at] = seen;
        const double c = (solid[at] - water.velocity[at]).dot(normals[at]);
        if (!(c > 0)) continue;
        water.velocity[at] += c * normals[at];
        impulse_[piece] += (water.volume[at] * c) * normals[at];
        state_[at] = changed;
        // A column of water hands it on only where it is full.
        if (water.volume[at] < room.capacity[at] - crumbs * quantum.size()) continue;
        for (const std::int32_t n : graph_.neighbours(t))
          if (n >= 0 && room.ranks[static_cast<std::size_t>(n)] > static_cast<std::int32_t>(level) &&
              water.volume[static_cast<std::size_t>(n)] > 0)
            next.push_back(n);
      }
    });
    for (std::size_t p = 0; p < pieces; ++p) {
      impulse += impulse_[p];
      for (const std::int32_t t : pieces_[p]) {
        if (state_[static_cast<std::size_t>(t)] != 0) continue;
        state_[static_cast<std::size_t>(t)] = seen;
        queue_[static_cast<std::size_t>(room.ranks[static_cast<std::size_t>(t)])].push_back(t);
      }
    }
  }
  for (const auto& list : queue_)
    for (const std::int32_t t : list) state_[static_cast<std::size_t>(t)] = 0;
  return impulse;
}

std::size_t VelocityCorrection::nbytes() const {
  std::size_t bytes = state_.size();
  for (const auto& q : queue_) bytes += q.capacity() * 4;
  for (const auto& p : pieces_) bytes += p.capacity() * 4;
  return bytes;
}

}  // namespace meniscus::fluids
