#include "meniscus/surface/shapes/constructive.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace meniscus::surface {
namespace {

using Batch = std::array<double, shape_batch>;

/// The extremum of several shapes: the minimum is their union, the maximum their intersection.
template <int D, bool minimum>
class Extremum final : public ImplicitShape<D> {
 public:
  explicit Extremum(std::vector<ShapePointer<D>> parts) : parts_(std::move(parts)) {
    require(!parts_.empty(), "a constructive operation needs at least one shape");
  }
  void evaluate(const double* points, int n, double* out) const override {
    Batch other;
    parts_[0]->evaluate(points, n, out);
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      parts_[p]->evaluate(points, n, other.data());
      for (int i = 0; i < n; ++i) {
        const double value = other[i];
        out[i] = minimum ? std::min(out[i], value) : std::max(out[i], value);
      }
    }
  }
  Bounds<D> bounds(double level) const override {
    Bounds<D> all = parts_[0]->bounds(level);
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      const Bounds<D> part = parts_[p]->bounds(level);
      if constexpr (minimum)
        all = {all.lower.cwiseMin(part.lower), all.upper.cwiseMax(part.upper)};
      else
        all = {all.lower.cwiseMax(part.lower), all.upper.cwiseMin(part.upper)};
    }
    return all;
  }

 private:
  std::vector<ShapePointer<D>> parts_;
};

template <int D>
class Complement final : public ImplicitShape<D> {
 public:
  explicit Complement(ShapePointer<D> shape) : shape_(std::move(shape)) {}
  void evaluate(const double* points, int n, double* out) const override {
    shape_->evaluate(points, n, out);
    for (int i = 0; i < n; ++i) out[i] = -out[i];
  }
  void normals(const double* points, int n, double* out) const override {
    shape_->normals(points, n, out);
    for (int i = 0; i < n * D; ++i) out[i] = -out[i];
  }
  Bounds<D> bounds(double) const override { return Bounds<D>::everything(); }

 private:
  ShapePointer<D> shape_;
};

template <int D>
class Offset final : public ImplicitShape<D> {
 public:
  Offset(ShapePointer<D> shape, double distance) : shape_(std::move(shape)), distance_(distance) {
    require(std::isfinite(distance), "distance must be finite, got ", distance);
  }
  void evaluate(const double* points, int n, double* out) const override {
    shape_->evaluate(points, n, out);
    for (int i = 0; i < n; ++i) out[i] -= distance_;
  }
  void normals(const double* points, int n, double* out) const override { shape_->normals(points, n, out); }
  Bounds<D> bounds(double level) const override { return shape_->bounds(level + distance_); }

 private:
  ShapePointer<D> shape_;
  double distance_;
};

template <int D>
class Shell final : public ImplicitShape<D> {
 public:
  Shell(ShapePointer<D> shape, double thickness) : shape_(std::move(shape)), half_(0.5 * thickness) {
    require(std::isfinite(thickness) && thickness > 0, "thickness must be positive and finite, got ", thickness);
  }
  void evaluate(const double* points, int n, double* out) const override {
    shape_->evaluate(points, n, out);
    for (int i = 0; i < n; ++i) out[i] = std::abs(out[i]) - half_;
  }
  Bounds<D> bounds(double level) const override { return shape_->bounds(level + half_); }

 private:
  ShapePointer<D> shape_;
  double half_;
};

template <int D>
class SmoothUnion final : public ImplicitShape<D> {
 public:
  SmoothUnion(ShapePointer<D> a, ShapePointer<D> b, double width) : a_(std::move(a)), b_(std::move(b)), width_(width) {
    require(std::isfinite(width) && width > 0, "width must be positive and finite, got ", width);
  }
  // The gradient is a convex combination of the two, so its length does not exceed one.
  void evaluate(const double* points, int n, double* out) const override {
    Batch other;
    a_->evaluate(points, n, out);
    b_->evaluate(points, n, other.data());
    for (int i = 0; i < n; ++i) {
      const double b = other[i];
      const double overlap = std::max(width_ - std::abs(out[i] - b), 0.0);
      out[i] = std::min(out[i], b) - 0.25 * overlap * overlap / width_;
    }
  }
  Bounds<D> bounds(double level) const override {
    const Bounds<D> a = a_->bounds(level + 0.25 * width_);
    const Bounds<D> b = b_->bounds(level + 0.25 * width_);
    return {a.lower.cwiseMin(b.lower), a.upper.cwiseMax(b.upper)};
  }

 private:
  ShapePointer<D> a_;
  ShapePointer<D> b_;
  double width_;
};

template <int D>
class Transformed final : public ImplicitShape<D> {
 public:
  Transformed(ShapePointer<D> shape, const RigidPose<D>& pose, double scale)
      : shape_(std::move(shape)), pose_(pose), scale_(scale) {
    require(std::isfinite(scale) && scale > 0, "scale must be positive and finite, got ", scale);
    require(pose.translation.array().isFinite().all() && pose.rotation.array().isFinite().all(), "a transform must be finite");
  }
  void evaluate(const double* points, int n, double* out) const override {
    Places body;
    to_body(points, n, body);
    shape_->evaluate(body.data(), n, out);
    for (int i = 0; i < n; ++i) out[i] *= scale_;
  }
  void normals(const double* points, int n, double* out) const override {
    Places body;
    to_body(points, n, body);
    shape_->normals(body.data(), n, out);
    for (int i = 0; i < n; ++i) {
      Eigen::Map<Vec<double, D>> normal(out + i * D);
      normal = (pose_.rotation * normal).eval();
    }
  }
  Bounds<D> bounds(double level) const override { return transformed<D>(shape_->bounds(level / scale_), pose_, scale_); }

 private:
  using Places = std::array<double, std::size_t{shape_batch} * D>;
  void to_body(const double* points, int n, Places& out) const {
    for (int i = 0; i < n; ++i) {
      const Vec<double, D> x = Eigen::Map<const Vec<double, D>>(points + i * D);
      Eigen::Map<Vec<double, D>>(out.data() + i * D) = pose_.to_body(x) / scale_;
    }
  }

  ShapePointer<D> shape_;
  RigidPose<D> pose_;
  double scale_;
};

}  // namespace

template <int D>
ShapePointer<D> shape_union(std::vector<ShapePointer<D>> parts) {
  return std::make_shared<Extremum<D, true>>(std::move(parts));
}

template <int D>
ShapePointer<D> shape_intersection(std::vector<ShapePointer<D>> parts) {
  return std::make_shared<Extremum<D, false>>(std::move(parts));
}

template <int D>
ShapePointer<D> shape_complement(ShapePointer<D> shape) {
  return std::make_shared<Complement<D>>(std::move(shape));
}

template <int D>
ShapePointer<D> shape_offset(ShapePointer<D> shape, double distance) {
  return std::make_shared<Offset<D>>(std::move(shape), distance);
}

template <int D>
ShapePointer<D> shape_shell(ShapePointer<D> shape, double thickness) {
  return std::make_shared<Shell<D>>(std::move(shape), thickness);
}

template <int D>
ShapePointer<D> shape_smooth_union(ShapePointer<D> a, ShapePointer<D> b, double width) {
  return std::make_shared<SmoothUnion<D>>(std::move(a), std::move(b), width);
}

template <int D>
ShapePointer<D> shape_transformed(ShapePointer<D> shape, const RigidPose<D>& pose, double scale) {
  return std::make_shared<Transformed<D>>(std::move(shape), pose, scale);
}

#define MENISCUS_INSTANTIATE(D)                                                             \
  template ShapePointer<D> shape_union<D>(std::vector<ShapePointer<D>>);                    \
  template ShapePointer<D> shape_intersection<D>(std::vector<ShapePointer<D>>);             \
  template ShapePointer<D> shape_complement<D>(ShapePointer<D>);                            \
  template ShapePointer<D> shape_offset<D>(ShapePointer<D>, double);                        \
  template ShapePointer<D> shape_shell<D>(ShapePointer<D>, double);                         \
  template ShapePointer<D> shape_smooth_union<D>(ShapePointer<D>, ShapePointer<D>, double); \
  template ShapePointer<D> shape_transformed<D>(ShapePointer<D>, const RigidPose<D>&, double);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
