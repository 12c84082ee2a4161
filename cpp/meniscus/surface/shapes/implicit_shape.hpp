/// Solids as signed distance functions: negative inside, positive outside, in metres.
///
/// Every shape has a Lipschitz constant of one and the right sign, so |phi(x)| is never above the distance from x to the surface.
/// Primitives give the exact distance; the declarations of combinations say which of them do.
#pragma once

#include "meniscus/core/types.hpp"

#include <limits>
#include <memory>

namespace meniscus::surface {

/// An axis-aligned box, possibly unbounded; empty where a lower value exceeds an upper one.
template <int D>
struct Bounds {
  Vec<double, D> lower;
  Vec<double, D> upper;

  static Bounds everything() {
    return {Vec<double, D>::Constant(-std::numeric_limits<double>::infinity()),
            Vec<double, D>::Constant(std::numeric_limits<double>::infinity())};
  }
  /// Grown by `distance` on every side; shrunk by a negative one.
  Bounds grown(double distance) const { return {lower.array() - distance, upper.array() + distance}; }
};

/// Points per call of `ImplicitShape::evaluate`: enough to hide the virtual calls of a tree, few enough for its stack.
inline constexpr int shape_batch = 64;

template <int D>
class ImplicitShape {
 public:
  virtual ~ImplicitShape() = default;
  /// Signed distances out[n] at points (n, D), row-major, n <= shape_batch.
  virtual void evaluate(const double* points, int n, double* out) const = 0;
  /// Outward unit normals out (n, D) at such points, the gradients of the distance: by default from central differences over 1e-5
  /// of the largest coordinate, which balances rounding errors and curvature. Where there is no gradient, any direction.
  virtual void normals(const double* points, int n, double* out) const;
  /// A box around {phi <= level}. The level matters because a bound of the distance, unlike the distance, may stay small far from
  /// the surface (beyond the corner of an intersection).
  virtual Bounds<D> bounds(double level = 0.0) const = 0;

 protected:
  /// Normals from central differences over a step (m) to each side; 0: the default.
  void difference_normals(const double* points, int n, double step, double* out) const;
};

/// A vector scaled to length 1; the last axis for zero.
template <int D>
Vec<double, D> unit_or_last(const Vec<double, D>& v) {
  const double length = v.norm();
  return length > 0 ? Vec<double, D>(v / length) : Vec<double, D>(Vec<double, D>::Unit(D - 1));
}

template <int D>
using ShapePointer = std::shared_ptr<const ImplicitShape<D>>;

/// Signed distances out[n] at points (n, D), row-major, in parallel.
template <int D>
void signed_distance(const ImplicitShape<D>& shape, const double* points, Index n, double* out);

/// Outward unit normals out (n, D) at points (n, D), row-major, in parallel.
template <int D>
void normals(const ImplicitShape<D>& shape, const double* points, Index n, double* out);

/// A rotation followed by a translation: x -> rotation x + translation.
template <int D>
struct RigidPose {
  Eigen::Matrix<double, D, D> rotation = Eigen::Matrix<double, D, D>::Identity();
  Vec<double, D> translation = Vec<double, D>::Zero();

  Vec<double, D> to_body(const Vec<double, D>& x) const { return rotation.transpose() * (x - translation); }
};

/// A box around the image of `bounds` under a pose after scaling by `scale` about the origin.
template <int D>
Bounds<D> transformed(const Bounds<D>& bounds, const RigidPose<D>& pose, double scale);

}  // namespace meniscus::surface
