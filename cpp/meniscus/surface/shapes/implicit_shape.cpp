#include "meniscus/surface/shapes/implicit_shape.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <array>

namespace meniscus::surface {

template <int D>
void signed_distance(const ImplicitShape<D>& shape, const double* points, Index n, double* out) {
  parallel_for(0, n, shape_batch, [&](Index b, Index e) { shape.evaluate(points + b * D, static_cast<int>(e - b), out + b); });
}

template <int D>
void normals(const ImplicitShape<D>& shape, const double* points, Index n, double* out) {
  parallel_for(0, n, shape_batch, [&](Index b, Index e) { shape.normals(points + b * D, static_cast<int>(e - b), out + b * D); });
}

template <int D>
void ImplicitShape<D>::normals(const double* points, int n, double* out) const {
  difference_normals(points, n, 0, out);
}

template <int D>
void ImplicitShape<D>::difference_normals(const double* points, int n, double step, double* out) const {
  using Place = Eigen::Map<const Vec<double, D>>;
  std::array<double, std::size_t{shape_batch} * D> shifted;
  std::array<double, shape_batch> above, below;
  const auto at = [&](int axis, double side, std::array<double, shape_batch>& values) {
    std::copy_n(points, n * D, shifted.data());
    for (int i = 0; i < n; ++i) {
      const double h = step > 0 ? step : 1e-5 * std::max(Place(points + i * D).cwiseAbs().maxCoeff(), 1e-3);
      shifted[i * D + axis] += side * h;
    }
    evaluate(shifted.data(), n, values.data());
  };
  for (int axis = 0; axis < D; ++axis) {
    at(axis, 1, above);
    at(axis, -1, below);
    for (int i = 0; i < n; ++i) out[i * D + axis] = above[i] - below[i];
  }
  for (int i = 0; i < n; ++i) {
    Eigen::Map<Vec<double, D>> normal(out + i * D);
    normal = unit_or_last<D>(normal);
  }
}

template <int D>
Bounds<D> transformed(const Bounds<D>& bounds, const RigidPose<D>& pose, double scale) {
  Bounds<D> image{pose.translation, pose.translation};
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column) {
      const double weight = scale * pose.rotation(row, column);
      if (weight == 0.0) continue;  // an unbounded side of the shape does not reach along this axis
      const double a = weight * bounds.lower[column];
      const double b = weight * bounds.upper[column];
      image.lower[row] += weight > 0.0 ? a : b;
      image.upper[row] += weight > 0.0 ? b : a;
    }
  return image;
}

#define MENISCUS_INSTANTIATE(D)                                                             \
  template class ImplicitShape<D>;                                                          \
  template void signed_distance<D>(const ImplicitShape<D>&, const double*, Index, double*); \
  template void normals<D>(const ImplicitShape<D>&, const double*, Index, double*);         \
  template Bounds<D> transformed<D>(const Bounds<D>&, const RigidPose<D>&, double);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
