#include "meniscus/fluids/sheets/single_layer.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <Eigen/Geometry>

#include <cmath>
#include <numbers>

namespace meniscus::fluids {
namespace {
constexpr double quarter = 0.25 / std::numbers::pi;
/// Triangles nearer than this many roots of their largest area are integrated exactly: beyond, midpoints have 1 % of their error.
constexpr double near_sizes = 4.0;

const double* numbers(std::span<const mesh::Point> points) { return reinterpret_cast<const double*>(points.data()); }
}  // namespace

mesh::Point panel_gradient(const mesh::Point& x, const std::array<mesh::Point, 3>& corners, const mesh::Point& normal) {
  std::array<mesh::Point, 3> d;
  std::array<double, 3> r;
  for (int k = 0; k < 3; ++k) {
    d[k] = corners[k] - x;
    r[k] = d[k].norm();
  }
  mesh::Point sum = mesh::Point::Zero();
  for (int k = 0; k < 3; ++k) {
    const int next = (k + 1) % 3;
    const mesh::Point edge = corners[next] - corners[k];
    const double length = edge.norm(), both = r[k] + r[next];
    if (both > length) sum -= edge.cross(normal) / length * std::log((both + length) / (both - length));
  }
  // The solid angle, positive on the side of the normal. Source: Van Oosterom and Strackee 1983.
  const double volume = d[0].dot(d[1].cross(d[2]));
  const double base = r[0] * r[1] * r[2] + d[0].dot(d[1]) * r[2] + d[1].dot(d[2]) * r[0] + d[2].dot(d[0]) * r[1];
  return sum + 2.0 * std::atan2(volume, base) * normal;
}

SingleLayer::SingleLayer(const mesh::TriangleMeshView& surface, double accuracy)
    : points_(surface.vertices.begin(), surface.vertices.end()),
      triangles_(surface.triangles.begin(), surface.triangles.end()),
      density_(triangles_.size(), 0.0),
      accuracy_(accuracy) {
  for (const mesh::Triangle& t : triangles_) {
    const mesh::Point &a = points_[t[0]], &b = points_[t[1]], &c = points_[t[2]];
    const mesh::Point normal = 0.5 * (b - a).cross(c - a);
    const double area = normal.norm();
    require(area > 0.0, "triangle ", centres_.size(), " has no area");
    centres_.push_back((a + b + c) / 3.0);
    normals_.push_back(normal / area);
    areas_.push_back(area);
  }
  tree_ = std::make_unique<numerics::FastMultipole>(numbers(centres_), size(), nullptr, 0,
                                                    numerics::MultipoleOptions{.accuracy = accuracy});
  // The flux of a source through all other triangles, as the potential of dipoles along their normals.
  std::vector<mesh::Point> dipoles(centres_.size()), gradient(centres_.size());
  const std::vector<double> charges(centres_.size(), 0.0);
  diagonal_.resize(centres_.size());
  for (Index i = 0; i < size(); ++i) dipoles[i] = areas_[i] * normals_[i];
  tree_->laplace(charges.data(), numbers(dipoles), diagonal_.data(), &gradient.data()->x());
  for (double& d : diagonal_) d = -1.0 - quarter * d;
}

void SingleLayer::multiply(std::span<const double> density, std::span<double> normal_velocity) const {
  std::vector<double> charges(areas_.size()), potential(areas_.size());
  std::vector<mesh::Point> gradient(areas_.size());
  for (Index i = 0; i < size(); ++i) charges[i] = density[i] * areas_[i];
  tree_->laplace(charges.data(), 1, potential.data(), &gradient.data()->x());
  for (Index i = 0; i < size(); ++i) normal_velocity[i] = diagonal_[i] * density[i] + quarter * normals_[i].dot(gradient[i]);
}

numerics::BiConjugateGradientsInfo SingleLayer::solve(std::span<const double> normal_velocity, double tolerance,
                                                      int max_iterations) {
  return numerics::solve_bi_conjugate_gradients([&](std::span<const double> in, std::span<double> out) { multiply(in, out); },
                                                normal_velocity, density_, tolerance, max_iterations);
}

void SingleLayer::velocity(std::span<const mesh::Point> points, std::span<mesh::Point> velocity) const {
  std::vector<double> charges(areas_.size()), potential(points.size());
  for (Index i = 0; i < size(); ++i) charges[i] = quarter * density_[i] * areas_[i];
  const numerics::FastMultipole tree(numbers(centres_), size(), numbers(points), std::ssize(points),
                                     numerics::MultipoleOptions{.accuracy = accuracy_});
  tree.laplace(charges.data(), 1, potential.data(), &velocity.data()->x());
  add_near(points, velocity);
}

/// Replaces points by triangles where they are near. Boxes that are at least as large as "near" find the pairs.
void SingleLayer::add_near(std::span<const mesh::Point> points, std::span<mesh::Point> velocity) const {
  double largest = 0.0;
  for (const double a : areas_) largest = std::max(largest, a);
  constexpr Index most_points = 16;
  numerics::Octree tree(numbers(centres_), size(), numbers(points), std::ssize(points),
                        {.most_points = most_points, .mean_points = 0.0, .least_side = near_sizes * std::sqrt(largest)});
  tree.find_near(0);
  parallel_for(0, std::ssize(tree.boxes()), 8, [&](Index begin, Index end) {
    thread_local std::vector<std::int32_t> stack;
    for (Index b = begin; b < end; ++b) {
      const auto& leaf = tree.box(b);
      if (!leaf.leaf() || leaf.targets() == 0) continue;
      const auto near = tree.near(b);
      stack.assign(near.begin(), near.end());
      while (!stack.empty()) {
        const auto& box = tree.box(stack.back());
        stack.pop_back();
        if (!numerics::Octree::adjacent(box, leaf)) continue;
        if (!box.leaf()) {
          for (std::int32_t c = box.first_child; c < box.first_child + box.children; ++c) stack.push_back(c);
          continue;
        }
        for (Index t = leaf.targets_begin; t < leaf.targets_end; ++t)
          for (Index s = box.sources_begin; s < box.sources_end; ++s) {
            const Index i = tree.targets().order[t], j = tree.sources().order[s];
            const mesh::Point d = points[i] - centres_[j];
            const double square = d.squaredNorm();
            if (square > near_sizes * near_sizes * areas_[j]) continue;
            const mesh::Triangle& c = triangles_[j];
            mesh::Point change = panel_gradient(points[i], {points_[c[0]], points_[c[1]], points_[c[2]]}, normals_[j]);
            if (square > 0.0) change += areas_[j] / (square * std::sqrt(square)) * d;
            velocity[i] += quarter * density_[j] * change;
          }
      }
    }
  });
}

}  // namespace meniscus::fluids
