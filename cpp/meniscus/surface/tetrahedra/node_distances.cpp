#include "meniscus/surface/tetrahedra/node_distances.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/search/box.hpp"
#include "meniscus/mesh/topology/ordering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace meniscus::surface {
namespace {

using mesh::Box;
using mesh::Point;

/// Nodes of a group, from coarse to fine; a group consists of 8 of the next finer ones.
constexpr std::array<Index, 5> group_sizes{4096, 512, 64, 8, 1};
constexpr Index node_chunk = 1024;
/// Points of one call of a distance, at most.
constexpr Index batch = Index{1} << 18;

}  // namespace

NodeDistances::NodeDistances(std::span<const Point> positions) {
  const auto n = static_cast<Index>(positions.size());
  require(n <= 2147483647, "a mesh can have at most 2147483647 nodes, not ", n);
  order_ = mesh::morton_order(positions);
}

void NodeDistances::evaluate(const SignedDistance& distance) {
  values_.resize(points_.size());
  for (std::size_t i = 0; i < points_.size(); i += static_cast<std::size_t>(batch)) {
    const std::size_t count = std::min(points_.size() - i, static_cast<std::size_t>(batch));
    distance(std::span(points_).subspan(i, count), std::span(values_).subspan(i, count));
  }
}

void NodeDistances::sample(std::span<const Point> positions, const SignedDistance& distance, double slope, double band,
                           std::span<double> phi) {
  require(positions.size() == order_.size() && phi.size() == order_.size(), "positions and phi must have ", order_.size(),
          " rows");
  const Index n = size();
  const auto node = [&](Index i) { return static_cast<std::size_t>(order_[i]); };
  groups_.resize((n + group_sizes[0] - 1) / group_sizes[0]);
  std::iota(groups_.begin(), groups_.end(), Index{0});
  for (std::size_t level = 0;; ++level) {
    const Index members = group_sizes[level];
    const auto count = static_cast<Index>(groups_.size());
    const auto last = [&](Index group) { return std::min((group + 1) * members, n); };
    points_.resize(groups_.size());
    parallel_for(0, count, std::max(node_chunk / members, Index{1}), [&](Index begin, Index end) {
      for (Index g = begin; g < end; ++g) {
        const Index first = groups_[g] * members;
        Box box;
        for (Index i = first; i < last(groups_[g]); ++i) box.add(positions[node(i)]);
        points_[g] = members > 1 ? Point(0.5 * box.low + 0.5 * box.high) : box.low;
      }
    });
    evaluate(distance);
    if (members == 1) {
      for (std::size_t g = 0; g < groups_.size(); ++g) phi[node(groups_[g])] = std::clamp(values_[g], -band, band);
      return;
    }
    closer_.clear();
    const Index finer = group_sizes[level + 1];
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (Index first = groups_[g] * members; first < last(groups_[g]); first += finer) {
        const Index end = std::min(first + finer, n);
        double reach = std::numeric_limits<double>::min();  // so that infinity times it is no NaN
        for (Index i = first; i < end; ++i) reach = std::max(reach, (positions[node(i)] - points_[g]).squaredNorm());
        // Round-off of the distance is far below this.
        if (std::abs(values_[g]) * (1 - 1e-9) - slope * std::sqrt(reach) * (1 + 1e-9) > band)
          for (Index i = first; i < end; ++i) phi[node(i)] = std::copysign(band, values_[g]);
        else
          closer_.push_back(first / finer);
      }
    std::swap(groups_, closer_);
  }
}

}  // namespace meniscus::surface
