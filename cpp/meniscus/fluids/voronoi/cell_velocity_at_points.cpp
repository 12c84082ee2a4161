#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/voronoi/cell_velocity.hpp"

#include <cmath>
#include <limits>

namespace meniscus::fluids {
namespace {

using mesh::Point;

constexpr Index chunk = 128;

}  // namespace

std::int32_t CellVelocity::anchor_at(const Point& p, std::int32_t& tet) const {
  const Point x = p.cwiseMax(mesh_->box().low).cwiseMin(mesh_->box().high);
  const std::int32_t i = mesh_->locate(x, tet);
  if (cells_->part[i] >= 0) return i;
  std::int32_t best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int32_t f : mesh_->faces_of(i)) {
    if (mesh_->faces()[f].on_wall()) continue;
    const std::int32_t j = mesh_->faces()[f].across(i);
    if (cells_->part[j] < 0) continue;
    if (const double d = (mesh_->sites()[j] - x).squaredNorm(); d < least) least = d, best = j;
  }
  if (best >= 0 || head_[i] < 0) return best;
  return walk(first_of_part_[part_[head_[i]]], x);
}

Point CellVelocity::at(const Point& p, std::int32_t anchor, std::int32_t& tet) const {
  if (anchor < 0) return Point::Zero();
  const Point x = p.cwiseMax(mesh_->box().low).cwiseMin(mesh_->box().high);
  const mesh::TetPlace place = mesh_->walk().place(x, tet);
  tet = place.tet;
  anchor = walk(anchor, x);
  double sum = 0;
  Point value = Point::Zero(), mean = Point::Zero();
  Eigen::Matrix3d gradient = Eigen::Matrix3d::Zero();
  // First with what is near the anchor; where that is nothing, as far out in the air, with all of the part.
  for (const bool near : {true, false}) {
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t v = mesh_->tets()[tet][k];
      if (v >= mesh_->size()) continue;
      const std::int32_t e = near ? near_anchor(v, anchor) : find(v, cells_->part[anchor]);
      if (e < 0) continue;
      const double w = place.weight[k];
      const Point& y = mesh_->sites()[v];
      sum += w;
      value += w * (u_[e] + 0.5 * (gradient_[e] * (x - y)));
      gradient += w * gradient_[e];
      mean += w * y;
    }
    if (sum > 0) break;
  }
  if (!(sum > 0)) return Point::Zero();
  // Where not all corners have a velocity, as those outside of the box, the others are continued.
  return value / sum + 0.5 / sum * (gradient * (x - mean / sum));
}

void CellVelocity::at(std::span<const Point> points, std::span<const std::int32_t> anchors, std::span<Point> out) const {
  parallel_for(0, std::ssize(points), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      std::int32_t tet = mesh_->walk().start(points[i]);
      out[i] = at(points[i], anchors.empty() ? anchor_at(points[i], tet) : anchors[i], tet);
    }
  });
}

Point CellVelocity::carried(const Point& p, std::int32_t anchor, std::int32_t& tet) const {
  Point u = at(p, anchor, tet);
  const Point x = p.cwiseMax(mesh_->box().low).cwiseMin(mesh_->box().high);
  for (int a = 0; a < 3; ++a)
    for (const double wall : {mesh_->box().low[a], mesh_->box().high[a]}) {
      const double part = 1 - std::abs(x[a] - wall) / options_.cell;
      if (!(part > 0)) continue;
      Point y = x;
      y[a] = wall;
      std::int32_t there = tet;
      if (part == 1) {
        u[a] = 0;
      } else if (cells_->part[mesh_->locate(y, there)] >= 0) {
        u[a] -= part * at(y, anchor, there)[a];
      }
    }
  return u;
}

void CellVelocity::carried(std::span<const Point> points, std::span<const std::int32_t> anchors, std::span<Point> out) const {
  parallel_for(0, std::ssize(points), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      std::int32_t tet = mesh_->walk().start(points[i]);
      out[i] = carried(points[i], anchors[i], tet);
    }
  });
}

void CellVelocity::anchor_at(std::span<const Point> points, std::span<std::int32_t> out) const {
  parallel_for(0, std::ssize(points), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      std::int32_t tet = mesh_->walk().start(points[i]);
      out[i] = anchor_at(points[i], tet);
    }
  });
}

double CellVelocity::greatest_speed() const {
  double most = 0;
  for (std::int32_t i = 0; i < mesh_->size(); ++i)
    if (cells_->part[i] >= 0) most = std::max(most, at_site(i).squaredNorm());
  return std::sqrt(most);
}

}  // namespace meniscus::fluids
