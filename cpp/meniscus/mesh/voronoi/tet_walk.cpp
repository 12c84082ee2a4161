#include "meniscus/mesh/voronoi/tet_walk.hpp"

#include "meniscus/numerics/predicates.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

/// Sites in a cell of the lattice of starts.
constexpr double sites_per_start = 4;
/// Cells along an axis, at most.
constexpr Index most_starts = 512;

}  // namespace

void TetWalk::build(const LinkedTets& linked, std::span<const Point> points, Index sites, const Box& box) {
  tets_ = linked.tets;
  neighbours_ = linked.neighbours;
  points_ = points;
  box_ = box;
  const Point size = box.high - box.low;
  const double edge = std::cbrt(size.prod() * sites_per_start / static_cast<double>(std::max<Index>(sites, 1)));
  for (Index d = 0; d < 3; ++d) {
    cells_[d] = std::clamp(static_cast<Index>(size[d] / edge), Index{1}, most_starts);
    per_cell_[d] = static_cast<double>(cells_[d]) / size[d];
  }
  starts_.assign(product<3>(cells_), -1);
  for (std::size_t t = 0; t < tets_.size(); ++t)
    for (const std::int32_t v : tets_[t])
      if (v < sites) {
        std::int32_t& s = starts_[cell(points_[v])];
        if (s < 0) s = static_cast<std::int32_t>(t);
      }
  std::int32_t last = 0;
  for (std::int32_t& s : starts_) s = last = s < 0 ? last : s;
}

Index TetWalk::cell(const Point& p) const {
  Index at = 0;
  for (Index d = 0; d < 3; ++d) {
    const double x = std::clamp((p[d] - box_.low[d]) * per_cell_[d], 0.0, static_cast<double>(cells_[d] - 1));
    at = at * cells_[d] + static_cast<Index>(x);
  }
  return at;
}

std::int32_t TetWalk::walk(const Point& p, std::int32_t from) const {
  std::int32_t t = from, came = -1;
  for (std::size_t step = 0;; ++step) {
    const Tet& tet = tets_[t];
    std::int32_t next = -1;
    // Turning the order of the faces keeps the walk from a preferred direction.
    for (std::size_t i = 0; i < 4 && next < 0; ++i) {
      const std::size_t k = (i + step) & 3;
      const std::int32_t n = neighbours_[t][k];
      if (n < 0 || n == came) continue;
      const auto& f = tet_faces[k];
      if (numerics::orient3d(points_[tet[f[0]]], points_[tet[f[1]]], points_[tet[f[2]]], p) > 0) next = n;
    }
    if (next < 0) return t;
    came = t;
    t = next;
  }
}

TetPlace TetWalk::place(const Point& p, std::int32_t from) const {
  TetPlace out{walk(p, from), {}};
  const Tet& t = tets_[out.tet];
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto& f = tet_faces[k];
    sum += out.weight[k] = std::max(0.0, -signed_volume(points_[t[f[0]]], points_[t[f[1]]], points_[t[f[2]]], p));
  }
  for (double& w : out.weight) w /= sum;
  return out;
}

}  // namespace meniscus::mesh
