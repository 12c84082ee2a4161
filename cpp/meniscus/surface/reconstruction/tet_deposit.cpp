#include "meniscus/surface/reconstruction/tet_deposit.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/refinement/octahedron_cut.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::surface {
namespace {

using mesh::Point;
using Corners = std::array<Point, 4>;
using Weights = std::array<double, 4>;

constexpr double longest_part = 1.6;
constexpr int most_divisions = 4;
constexpr Index planes = 4;             // of cells, that one piece of the loop fills
constexpr Index deposit_chunk = 16384;  // tetrahedra

Weights middle(const Weights& a, const Weights& b) {
  Weights m;
  for (std::size_t i = 0; i < 4; ++i) m[i] = 0.5 * (a[i] + b[i]);
  return m;
}

/// Barycentric coordinates of the points of a tetrahedron that is divided `divisions` times into eight.
std::vector<Weights> points_of(int divisions) {
  using Part = std::array<Weights, 4>;
  std::vector<Part> parts{{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}}, finer;
  for (int n = 0; n < divisions; ++n) {
    finer.clear();
    for (const Part& p : parts) {
      std::array<Weights, 6> m;
      for (std::size_t e = 0; e < 6; ++e) m[e] = middle(p[mesh::tet_edges[e][0]], p[mesh::tet_edges[e][1]]);
      std::array<Part, 8> children;
      mesh::cut_into_eight(p, m.data(), 0, children.data());
      finer.insert(finer.end(), children.begin(), children.end());
    }
    parts.swap(finer);
  }
  const double near = (5.0 + 3.0 * std::sqrt(5.0)) / 20.0;
  const double far = (5.0 - std::sqrt(5.0)) / 20.0;
  std::vector<Weights> points;
  for (const Part& p : parts)
    for (std::size_t k = 0; k < 4; ++k) {
      Weights w{};
      for (std::size_t corner = 0; corner < 4; ++corner)
        for (std::size_t i = 0; i < 4; ++i) w[i] += (corner == k ? near : far) * p[corner][i];
      points.push_back(w);
    }
  return points;
}

struct Extent {
  std::int32_t first = 0, last = -1;  ///< groups of planes that the tetrahedron reaches
  std::int8_t divisions = 0;
};

Extent extent_of(const Corners& x, const Coord<3>& low, const Coord<3>& shape) {
  double longest = 0;
  for (std::size_t e = 0; e < 6; ++e)
    longest = std::max(longest, (x[mesh::tet_edges[e][0]] - x[mesh::tet_edges[e][1]]).squaredNorm());
  Extent extent;
  for (double edge = std::sqrt(longest); edge > longest_part && extent.divisions < most_divisions; edge *= 0.5)
    ++extent.divisions;
  for (int d = 0; d < 3; ++d) {
    const Index axis = d;
    double least = x[0][d], most = x[0][d];
    for (const Point& p : x) {
      least = std::min(least, p[d]);
      most = std::max(most, p[d]);
    }
    const double begin = std::floor(least) - static_cast<double>(low[axis]);
    const double end = std::floor(most) - static_cast<double>(low[axis]);
    const auto last = static_cast<double>(shape[axis] - 1);
    if (end < 0 || begin > last) return {0, -1, 0};
    if (d == 0) {
      extent.first = static_cast<std::int32_t>(static_cast<Index>(std::max(begin, 0.0)) / planes);
      extent.last = static_cast<std::int32_t>(static_cast<Index>(std::min(end, last)) / planes);
    }
  }
  return extent;
}

}  // namespace

void deposit_tets(const mesh::TetMeshView& mesh, std::span<const double> amounts, std::size_t kinds, const Coord<3>& low,
                  const Coord<3>& shape, std::span<double> out, Workspace& workspace) {
  const Index n = mesh.size();
  const Index cells = product<3>(shape);
  require(kinds > 0 && amounts.size() == static_cast<std::size_t>(n) * kinds, "there must be ", kinds,
          " amounts per tetrahedron");
  require(cells > 0 && out.size() == static_cast<std::size_t>(cells) * kinds,
          "the box has other extents than what is to be filled");
  const auto corners_of = [&](Index t) {
    return Corners{mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2), mesh.corner(t, 3)};
  };
  std::array<std::vector<Weights>, most_divisions + 1> points;
  for (int d = 0; d <= most_divisions; ++d) points[d] = points_of(d);
  const auto extents = workspace.take<Extent>(n);
  parallel_for(0, n, deposit_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) extents.data()[t] = extent_of(corners_of(t), low, shape);
  });
  // The tetrahedra of each group of planes, in ascending order: so a cell sums in one order, whoever fills it.
  const Index groups = (shape[0] + planes - 1) / planes;
  const auto starts = workspace.take<Index>(groups + 2);
  std::fill_n(starts.data(), groups + 2, Index{0});
  for (Index t = 0; t < n; ++t)
    for (Index g = extents.data()[t].first; g <= extents.data()[t].last; ++g) ++starts.data()[g + 2];
  for (Index g = 0; g < groups; ++g) starts.data()[g + 2] += starts.data()[g + 1];
  const auto members = workspace.take<std::int32_t>(starts.data()[groups + 1]);
  for (Index t = 0; t < n; ++t)
    for (Index g = extents.data()[t].first; g <= extents.data()[t].last; ++g)
      members.data()[starts.data()[g + 1]++] = static_cast<std::int32_t>(t);
  const Coord<3> strides = c_strides<3>(shape);
  parallel_for(0, groups, 1, [&](Index group, Index) {
    const Index begin = group * planes;
    const Index end = std::min(begin + planes, shape[0]);
    for (std::size_t k = 0; k < kinds; ++k) {
      double* const plane = out.data() + static_cast<Index>(k) * cells;
      std::fill(plane + begin * strides[0], plane + end * strides[0], 0.0);
    }
    for (Index m = starts.data()[group]; m < starts.data()[group + 1]; ++m) {
      const Index t = members.data()[m];
      const Corners x = corners_of(t);
      const std::vector<Weights>& parts = points[extents.data()[t].divisions];
      const double share = 1.0 / static_cast<double>(parts.size());
      for (const Weights& w : parts) {
        Index cell = 0;
        bool inside = true;
        for (int d = 0; d < 3; ++d) {
          const Index axis = d;
          const double at = w[0] * x[0][d] + w[1] * x[1][d] + w[2] * x[2][d] + w[3] * x[3][d];
          const double i = std::floor(at) - static_cast<double>(low[axis]);
          inside = inside && i >= static_cast<double>(d == 0 ? begin : 0) && i < static_cast<double>(d == 0 ? end : shape[axis]);
          if (inside) cell += static_cast<Index>(i) * strides[axis];
        }
        if (!inside) continue;
        for (std::size_t k = 0; k < kinds; ++k)
          out[k * static_cast<std::size_t>(cells) + static_cast<std::size_t>(cell)] +=
              share * amounts[static_cast<std::size_t>(t) * kinds + k];
      }
    }
  });
}

}  // namespace meniscus::surface
