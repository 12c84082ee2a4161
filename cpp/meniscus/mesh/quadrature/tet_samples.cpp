#include "meniscus/mesh/quadrature/tet_samples.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/quadrature/tet_rules.hpp"
#include "meniscus/mesh/refinement/octahedron_cut.hpp"

#include <vector>

namespace meniscus::mesh {
namespace {

/// m is the largest index.
std::vector<TetWeights> lattice(int m) {
  std::vector<TetWeights> points;
  const auto weight = [m](int i) { return (i + 0.25) / (m + 1); };
  for (int i = 0; i <= m; ++i)
    for (int j = 0; i + j <= m; ++j)
      for (int k = 0; i + j + k <= m; ++k) points.push_back({weight(i), weight(j), weight(k), weight(m - i - j - k)});
  return points;
}

using Corners = std::array<TetWeights, 4>;

TetWeights middle(const TetWeights& a, const TetWeights& b) {
  TetWeights m;
  for (std::size_t k = 0; k < 4; ++k) m[k] = 0.5 * (a[k] + b[k]);
  return m;
}

/// Appends the centroids of the tetrahedra of `depth` red subdivisions, all weights being multiples of a power of two.
void append_centroids(const Corners& c, int depth, std::vector<TetWeights>& points) {
  if (depth == 0) {
    TetWeights centroid;
    for (std::size_t k = 0; k < 4; ++k) centroid[k] = 0.25 * (c[0][k] + c[1][k] + c[2][k] + c[3][k]);
    points.push_back(centroid);
    return;
  }
  std::array<TetWeights, 6> middles;
  for (std::size_t e = 0; e < 6; ++e) middles[e] = middle(c[tet_edges[e][0]], c[tet_edges[e][1]]);
  std::array<Corners, 8> children;
  cut_into_eight(c, middles.data(), 0, children.data());
  for (const Corners& child : children) append_centroids(child, depth - 1, points);
}

std::vector<TetWeights> red_centroids(int depth) {
  std::vector<TetWeights> points;
  append_centroids({{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}, depth, points);
  return points;
}

std::vector<TetWeights> with_centroid(std::vector<TetWeights> points) {
  points.insert(points.begin(), TetWeights{0.25, 0.25, 0.25, 0.25});
  return points;
}

}  // namespace

std::span<const TetWeights> fixed_samples(Index n) {
  static const std::array sets{with_centroid({}), lattice(1), with_centroid(lattice(1)), red_centroids(1), lattice(2),
                               lattice(3),        lattice(4), red_centroids(2)};
  for (const auto& set : sets)
    if (static_cast<Index>(set.size()) == n) return set;
  require(false, "fixed sets of samples have 1, 4, 5, 8, 10, 20, 35 or 64 points, not ", n);
  return {};
}

std::span<const TetWeights> quadrature_samples(Index n) {
  for (const TetRule& rule : tet_rules())
    if (static_cast<Index>(rule.points.size()) == n) return rule.points;
  require(false, "quadrature rules of tetrahedra have 1, 4, 8, 14, 24, 35, 46, 61, 81 or 109 points, not ", n);
  return {};
}

void random_samples(TetSampling kind, std::uint64_t seed, std::span<const std::int64_t> elements, std::uint32_t step,
                    std::span<TetWeights> out) {
  if (elements.empty()) return;
  const std::size_t count = out.size() / elements.size();
  require(count * elements.size() == out.size(), "out must have the same number of points for each element");
  parallel_for(0, static_cast<Index>(elements.size()), 512, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e)
      random_samples(kind, seed, static_cast<std::uint64_t>(elements[e]), step, out.subspan(e * count, count));
  });
}

}  // namespace meniscus::mesh
