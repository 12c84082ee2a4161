#include "meniscus/collision/proximity/winding_number.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/repair/orientation.hpp"

#include <cmath>
#include <numbers>

namespace meniscus::collision {

WindingTree::WindingTree(const mesh::TriangleTree& tree, std::span<const signed char> sides)
    : moments_(tree.volumes().nodes().size()), orientation_(tree.size(), 1.0) {
  for (Index s = 0; s < tree.size(); ++s) {
    const auto& [a, b, c] = tree.corners(s);
    if (mesh::has_no_area(a, b, c))
      orientation_[s] = 0;  // no solid angle either, but round-off beside it
    else if (!sides.empty())
      orientation_[s] = sides[tree.triangle(s)];
  }
  // Total areas are needed for the centres of parents only.
  std::vector<double> weights(moments_.size());
  const auto levels = tree.volumes().levels();
  for (std::size_t level = levels.size(); level-- > 1;)
    parallel_for(levels[level - 1], levels[level], 512, [&](Index begin, Index end) {
      for (auto i = static_cast<std::int32_t>(begin); i < static_cast<std::int32_t>(end); ++i) {
        const mesh::BoundingVolumeTree::Node& n = tree.volumes().node(i);
        Moments m;
        m.center.setZero();
        m.area.setZero();
        m.first.setZero();
        double weight = 0;
        const auto each_part = [&](auto&& visit) {  // visit(center, weight, area, first)
          if (n.leaf()) {
            for (std::int32_t s = n.first; s < n.first + n.count; ++s) {
              const auto& [a, b, c] = tree.corners(s);
              const mesh::Point area = 0.5 * orientation_[s] * mesh::area_vector(a, b, c);
              visit((a + b + c) / 3, area.norm(), area, Eigen::Matrix3d::Zero());
            }
          } else {
            for (const std::int32_t k : {n.child, n.child + 1}) {
              const Moments& child = moments_[k];
              visit(child.center, weights[k], child.area, child.first);
            }
          }
        };
        each_part([&](const mesh::Point& center, double part, const mesh::Point& area, const Eigen::Matrix3d&) {
          m.center += part * center;
          m.area += area;
          weight += part;
        });
        m.center = weight > 0 ? mesh::Point(m.center / weight) : mesh::Point(0.5 * n.box.low + 0.5 * n.box.high);
        each_part([&](const mesh::Point& center, double, const mesh::Point& area, const Eigen::Matrix3d& first) {
          m.first += first + (center - m.center) * area.transpose();
        });
        m.squared_radius = (n.box.high - m.center).cwiseAbs().cwiseMax((n.box.low - m.center).cwiseAbs()).squaredNorm();
        weights[i] = weight;
        moments_[i] = m;
      }
    });
}

double WindingTree::operator()(const mesh::TriangleTree& tree, const mesh::Point& p, double accuracy, Index left_out) const {
  double near = 0;
  double far = 0;
  const double ratio = accuracy * accuracy;
  tree.volumes().traverse(
      [&](std::int32_t i, const mesh::BoundingVolumeTree::Node&) {
        const Moments& m = moments_[i];
        const mesh::Point r = m.center - p;
        const double r2 = r.squaredNorm();
        if (!(r2 > ratio * m.squared_radius)) return true;
        // The gradient of -1 / (4 pi |r|) is r / (4 pi |r|^3); its derivative is (I - 3 r r^T / |r|^2) / (4 pi |r|^3).
        const double inverse = 1 / (r2 * std::sqrt(r2));
        far += inverse * (r.dot(m.area) + m.first.trace() - 3 * r.dot(m.first * r) / r2);
        return false;
      },
      [&](const mesh::BoundingVolumeTree::Node& n) {
        for (std::int32_t s = n.first; s < n.first + n.count; ++s) {
          if (s == left_out) continue;
          const auto& [a, b, c] = tree.corners(s);
          near += orientation_[s] * mesh::winding_contribution(p, a, b, c);
        }
      });
  return near + far * (0.25 * std::numbers::inv_pi);
}

double WindingTree::exact(const mesh::TriangleTree& tree, const mesh::Point& p) const {
  double sum = 0;
  for (Index s = 0; s < tree.size(); ++s) {
    const auto& [a, b, c] = tree.corners(s);
    sum += orientation_[s] * mesh::winding_contribution(p, a, b, c);
  }
  return sum;
}

void winding_numbers(const mesh::TriangleTree& tree, std::span<const mesh::Point> points, std::optional<double> accuracy,
                     std::span<double> out) {
  const WindingTree winding(tree);
  parallel_for(0, static_cast<Index>(points.size()), 64, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = accuracy ? winding(tree, points[i], *accuracy) : winding.exact(tree, points[i]);
  });
}

}  // namespace meniscus::collision
