/// Generalised winding numbers of triangle meshes: 1 inside and 0 outside of a closed mesh whose triangles are counter-clockwise
/// as seen from outside, and something in between near the holes of one that is not closed.
///
/// Sources: Jacobson, Kavan and Sorkine-Hornung, "Robust inside-outside segmentation using generalized winding numbers", 2013;
/// Barill et al., "Fast winding numbers for soups and clouds", 2018; Van Oosterom and Strackee, "The solid angle of a plane
/// triangle", 1983.
#pragma once

#include "meniscus/mesh/search/triangle_tree.hpp"

#include <optional>

namespace meniscus::collision {

/// Sums over far parts of a mesh at once: a node of the tree whose centre is farther away than `accuracy` times its radius
/// contributes the first two terms (dipole and quadrupole) of its expansion.
class WindingTree {
 public:
  /// The value that Barill et al. 2018 recommend.
  static constexpr double default_accuracy = 2.0;

  /// `sides`, if not empty, are those of a `mesh::SurfaceOrientation`: 1, -1 for a triangle the other way round, 0 for one that
  /// does not count. The tree of triangles is not stored: queries must get the same tree.
  explicit WindingTree(const mesh::TriangleTree& tree, std::span<const signed char> sides = {});

  /// The winding number of p, without the triangle at slot `left_out` if p lies on it.
  double operator()(const mesh::TriangleTree& tree, const mesh::Point& p, double accuracy = default_accuracy,
                    Index left_out = -1) const;

  /// The sum over all triangles, one by one.
  double exact(const mesh::TriangleTree& tree, const mesh::Point& p) const;

 private:
  struct Moments {
    mesh::Point center;
    double squared_radius;
    /// Sum of the area vectors, m^2.
    mesh::Point area;
    /// Sum of the outer products of centroid - center and area vector, m^3.
    Eigen::Matrix3d first;
  };
  std::vector<Moments> moments_;
  /// By slot: the side, 0 for a triangle without area.
  std::vector<double> orientation_;
};

/// The winding numbers of a mesh at points, in parallel; without an accuracy the sums over all triangles.
void winding_numbers(const mesh::TriangleTree& tree, std::span<const mesh::Point> points, std::optional<double> accuracy,
                     std::span<double> out);

}  // namespace meniscus::collision
