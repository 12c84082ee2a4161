/// A solid with its motion at one time, as contact asks it.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/surface/shapes/implicit_shape.hpp"

#include <span>

namespace meniscus::surface {

/// What is asked of a solid at points (n,); nothing is written to empty spans.
struct SolidAnswers {
  /// m, negative inside.
  std::span<double> distances;
  /// Outward, of length 1.
  std::span<mesh::Point> normals;
  /// m/s.
  std::span<mesh::Point> velocities;
};

class SolidAt {
 public:
  virtual ~SolidAt() = default;
  /// Answers for all points at once; each point gets what it would get in the same set of points in another order.
  virtual void ask(std::span<const mesh::Point> points, const SolidAnswers& answers) const = 0;
  /// Whether velocities may differ from 0.
  virtual bool moves() const = 0;
  /// A box around the solid.
  virtual Bounds<3> bounds() const = 0;
};

/// A shape under a pose, whose points have the velocity linear + gradient (x - reference), m/s.
class RigidSolidAt final : public SolidAt {
 public:
  struct Motion {
    RigidPose<3> pose;
    bool moves = false;
    mesh::Point linear = mesh::Point::Zero();
    Eigen::Matrix3d gradient = Eigen::Matrix3d::Zero();
    mesh::Point reference = mesh::Point::Zero();
  };

  RigidSolidAt(ShapePointer<3> shape, const Motion& motion) : shape_(std::move(shape)), motion_(motion) {}
  void ask(std::span<const mesh::Point> points, const SolidAnswers& answers) const override;
  bool moves() const override { return motion_.moves; }
  Bounds<3> bounds() const override { return transformed<3>(shape_->bounds(), motion_.pose, 1.0); }

 private:
  ShapePointer<3> shape_;
  Motion motion_;
};

}  // namespace meniscus::surface
