#include "meniscus/fluids/tet_vof/transport/tet_reach.hpp"

#include "meniscus/core/parallel.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <atomic>
#include <limits>

namespace meniscus::fluids {
namespace {

constexpr Index reach_chunk = 1024;
constexpr std::int32_t none = -1;
constexpr std::int32_t claimed = -2;
/// Smallest pivot of an affine fit, relative to the largest.
constexpr double degenerate = 1e-3;

/// The smallest height of a tetrahedron; 0 for flat ones.
double smallest_height(const std::array<mesh::Point, 4>& x) {
  const double volume = std::abs((x[1] - x[0]).dot((x[2] - x[0]).cross(x[3] - x[0])));
  double area = 0;
  for (const auto& f : mesh::tet_faces) area = std::max(area, (x[f[1]] - x[f[0]]).cross(x[f[2]] - x[f[0]]).norm());
  return area > 0 ? volume / area : 0;
}

template <class T>
void join(std::vector<std::vector<T>>& pieces, std::size_t count, std::vector<T>& to) {
  for (std::size_t p = 0; p < count; ++p) to.insert(to.end(), pieces[p].begin(), pieces[p].end());
}

}  // namespace

TetReach::TetReach(const TetGraph& graph)
    : graph_(graph),
      slots_(graph.size(), none),
      round_(graph.vertices(), 0),
      node_velocity_(graph.vertices()),
      node_reach_(graph.vertices()) {}

void TetReach::find_wet(const TetWater& water) {
  for (const std::int32_t t : tets_) slots_[t] = none;
  tets_.clear();
  const Index m = graph_.size();
  const auto pieces = static_cast<std::size_t>((m + (reach_chunk << 4) - 1) / (reach_chunk << 4));
  if (pieces_.size() < pieces) pieces_.resize(pieces);
  parallel_for(0, m, reach_chunk << 4, [&](Index b, Index e) {
    auto& found = pieces_[b / (reach_chunk << 4)];
    found.clear();
    for (Index i = b; i < e; ++i)
      if (water.volume[i] > 0) found.push_back(static_cast<std::int32_t>(i));
  });
  join(pieces_, pieces, tets_);
  wet_ = size();
}

/// How far water that goes along a path comes relative to the corners of a tetrahedron.
double TetReach::farthest(std::int32_t t, const mesh::Point& path, std::span<const mesh::Point> before,
                          std::span<const mesh::Point> after) const {
  double most = 0;
  for (const std::int32_t v : graph_.tet(t)) {
    const Index k = v;
    most = std::max(most, (path - (after[k] - before[k])).squaredNorm());
  }
  return std::sqrt(most);
}

/// The mean over the tetrahedra around a vertex that have slots: of those with water, by volume; without any, of all. Means and
/// fits are of differences to one of the velocities, so that water which moves as one has its velocity everywhere, to the last
/// bit.
void TetReach::average_node(std::int32_t v, const TetWater& water) {
  const Index i = v;
  mesh::Point& common = node_velocity_[i];
  graph_.for_star(v, [&](std::int32_t t) {
    if (slot(t) >= 0) common = velocities_[slot(t)];
  });
  mesh::Point wet = mesh::Point::Zero(), dry = mesh::Point::Zero();
  double volume = 0, count = 0, reach = 0;
  graph_.for_star(v, [&](std::int32_t t) {
    const std::int32_t s = slot(t);
    if (s < 0) return;
    reach = std::max(reach, reach_[s]);
    if (s < wet_) {
      const double w = water.volume[t];
      wet += w * (velocities_[s] - common);
      volume += w;
    } else {
      dry += velocities_[s] - common;
      count += 1;
    }
  });
  if (volume > 0)
    common += wet / volume;
  else if (count > 0)
    common += dry / count;
  else
    common.setZero();
  node_reach_[i] = reach;
  if (!node_gradient_.empty()) fit_node(v);
}

mesh::Point TetReach::centre(std::int32_t t) const {
  mesh::Point sum = mesh::Point::Zero();
  for (const std::int32_t v : graph_.tet(t)) sum += places_[v];
  return 0.25 * sum;
}

/// Replaces the mean by the affine function of position that fits best, where there are enough tetrahedra in all directions.
void TetReach::fit_node(std::int32_t v) {
  const Index at = v;
  node_gradient_[at].setZero();
  const mesh::Point common = node_velocity_[at];
  bool any_wet = false;
  double size = 0;
  graph_.for_star(v, [&](std::int32_t t) {
    const std::int32_t s = slot(t);
    if (s < 0) return;
    any_wet = any_wet || s < wet_;
    size = std::max(size, (centre(t) - places_[at]).cwiseAbs().maxCoeff());
  });
  if (!(size > 0)) return;
  Eigen::Matrix4d sum = Eigen::Matrix4d::Zero();
  Eigen::Matrix<double, 4, 3> right = Eigen::Matrix<double, 4, 3>::Zero();
  graph_.for_star(v, [&](std::int32_t t) {
    const std::int32_t s = slot(t);
    if (s < 0 || (any_wet && s >= wet_)) return;
    Eigen::Vector4d row;
    row << 1.0, (centre(t) - places_[at]) / size;
    sum += row * row.transpose();
    right += row * (velocities_[s] - common).transpose();
  });
  const Eigen::LDLT<Eigen::Matrix4d> factors(sum);
  const Eigen::Vector4d pivots = factors.vectorD();
  if (factors.info() != Eigen::Success || !(pivots.minCoeff() > degenerate * pivots.maxCoeff())) return;
  const Eigen::Matrix<double, 4, 3> fit = factors.solve(right);
  node_velocity_[at] = common + fit.row(0).transpose();
  node_gradient_[at] = fit.bottomRows<3>().transpose() / size;
}

void TetReach::add_layers(const TetWater& water, std::span<const mesh::Point> after, std::span<const std::int32_t> ranks) {
  for (Index first = 0, end = size(); first < end; first = end, end = size()) {
    const auto pieces = static_cast<std::size_t>((end - first + reach_chunk - 1) / reach_chunk);
    if (pieces_.size() < pieces) pieces_.resize(pieces);
    // Vertices where the layer may go on: those with a tetrahedron that has no slot yet.
    parallel_for(first, end, reach_chunk, [&](Index b, Index e) {
      auto& found = pieces_[(b - first) / reach_chunk];
      found.clear();
      for (Index i = b; i < e; ++i) {
        if (!(reach_[i] > 0)) continue;
        for (const std::int32_t v : graph_.tet(tets_[i])) {
          std::atomic_ref<std::int32_t> round(round_[v]);
          if (round.load(std::memory_order_relaxed) == rounds_ || round.exchange(rounds_, std::memory_order_relaxed) == rounds_)
            continue;
          bool open = false;
          graph_.for_star(v, [&](std::int32_t t) { open = open || (slot(t) == none && ranks[t] >= 0); });
          if (open) found.push_back(v);
        }
      }
    });
    nodes_.clear();
    join(pieces_, pieces, nodes_);
    const auto count = static_cast<Index>(nodes_.size());
    parallel_for(0, count, reach_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) average_node(nodes_[i], water);
    });
    const auto parts = static_cast<std::size_t>((count + reach_chunk - 1) / reach_chunk);
    if (pieces_.size() < parts) pieces_.resize(parts);
    parallel_for(0, count, reach_chunk, [&](Index b, Index e) {
      auto& found = pieces_[b / reach_chunk];
      found.clear();
      for (Index i = b; i < e; ++i)
        graph_.for_star(nodes_[i], [&](std::int32_t t) {
          if (ranks[t] < 0) return;
          std::atomic_ref<std::int32_t> s(slots_[t]);
          std::int32_t expected = none;
          if (s.load(std::memory_order_relaxed) == none &&
              s.compare_exchange_strong(expected, claimed, std::memory_order_relaxed))
            found.push_back(t);
        });
    });
    join(pieces_, parts, tets_);
    std::sort(tets_.begin() + end, tets_.end());
    velocities_.resize(tets_.size());
    reach_.resize(tets_.size());
    // A vertex of an earlier layer may be claimed without an average of its own; only those of this one count.
    for (const std::int32_t v : nodes_) round_[v] = rounds_ + 1;
    parallel_for(end, size(), reach_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const Index at = i;
        const std::int32_t t = tets_[at];
        mesh::Point sum = mesh::Point::Zero(), common = mesh::Point::Zero();
        double known = 0, reach = 0;
        std::array<mesh::Point, 4> x;
        for (std::size_t k = 0; k < 4; ++k) {
          const Index v = graph_.tet(t)[k];
          x[k] = after[v];
          if (round_[v] != rounds_ + 1) continue;
          if (known == 0) common = node_velocity_[v];
          sum += node_velocity_[v] - common;
          if (!node_gradient_.empty()) sum += node_gradient_[v] * (centre(t) - places_[v]);
          reach = std::max(reach, node_reach_[v]);
          known += 1;
        }
        velocities_[at] = common + sum / known;
        reach_[at] = reach - smallest_height(x);
        slots_[t] = static_cast<std::int32_t>(i);
      }
    });
    for (const std::int32_t v : nodes_) round_[v] = rounds_;
  }
}

void TetReach::gather(const TetWater& water, std::span<const mesh::Point> before, std::span<const mesh::Point> after,
                      std::span<const std::int32_t> ranks, double dt, bool nodes, const WetBoundary& boundary) {
  places_ = before;
  node_gradient_.resize(nodes ? static_cast<std::size_t>(graph_.vertices()) : 0);
  find_wet(water);
  velocities_.resize(tets_.size());
  reach_.resize(tets_.size());
  parallel_for(0, wet_, reach_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const Index at = i;
      const std::int32_t t = tets_[at];
      slots_[t] = static_cast<std::int32_t>(i);
      velocities_[at] = water.velocity[t];
      // Relative to the mesh: where both move alike, water does not come anywhere.
      reach_[at] = farthest(t, dt * velocities_[at], before, after);
    }
  });
  for (std::size_t i = 0; i < boundary.tets.size(); ++i) {
    const std::int32_t t = boundary.tets[i];
    const Index at = t;
    if (slots_[at] != none || ranks[at] < 0) continue;
    slots_[at] = static_cast<std::int32_t>(tets_.size());
    tets_.push_back(t);
    velocities_.push_back(boundary.velocities[i]);
    reach_.push_back(farthest(t, dt * boundary.velocities[i], before, after));
  }
  ++rounds_;
  add_layers(water, after, ranks);
  rounds_ += 2;
  if (!nodes) return;
  parallel_for(0, size(), reach_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for (const std::int32_t v : graph_.tet(tets_[i])) {
        std::atomic_ref<std::int32_t> round(round_[v]);
        if (round.load(std::memory_order_relaxed) != rounds_ && round.exchange(rounds_, std::memory_order_relaxed) != rounds_)
          average_node(v, water);
      }
  });
}

std::size_t TetReach::nbytes() const {
  std::size_t bytes = slots_.size() * 4 + tets_.capacity() * 4 + velocities_.capacity() * 24 + reach_.capacity() * 8 +
                      round_.size() * 4 + node_velocity_.size() * 24 + node_reach_.size() * 8 + nodes_.capacity() * 4;
  for (const auto& p : pieces_) bytes += p.capacity() * 4;
  return bytes;
}

}  // namespace meniscus::fluids
