#include "meniscus/surface/shapes/implicit_shape.hpp"

#include "meniscus/core/parallel.hpp"

#include <array>
#include <cmath>

namespace meniscus::surface {

template <int D>
void signed_distance(const ImplicitShape<D>& shape, const double* points, Index n, double* out) {
  parallel_for(0, n, shape_batch, [&](Index b, Index e) { shape.evaluate(points + b * D, static_cast<int>(e - b), out + b); });
}

template <int D>
void ImplicitShape<D>::difference_normals(const double* points, int n, double step, double* out) const {
  std::array<double, std::size_t{shape_batch} * D> shifted;
  std::array<double, std::size_t{shape_batch}> above, below;
  for (int d = 0; d < D; ++d) {
    for (const bool up : {true, false}) {
      std::copy_n(points, n * D, shifted.data());
      for (int i = 0; i < n; ++i) shifted[i * D + d] += up ? step : -step;
      evaluate(shifted.data(), n, (up ? above : below).data());
    }
    for (int i = 0; i < n; ++i) out[i * D + d] = above[i] - below[i];
  }
  for (int i = 0; i < n; ++i) {
    Eigen::Map<Vec<double, D>> own(out + i * D);
    own = unit_or_last_axis<D>(own);
  }
}

template <int D>
void normals(const ImplicitShape<D>& shape, const double* points, Index n, double* out) {
  const double size = parallel_reduce(
      0, n * D, 4096, 0.0,
      [&](Index b, Index e) {
        double most = 0;
        for (Index i = b; i < e; ++i) most = std::max(most, std::abs(points[i]));
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
  parallel_for(0, n, shape_batch,
               [&](Index b, Index e) { shape.normals(points + b * D, static_cast<int>(e - b), size, out + b * D); });
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
  template void signed_distance<D>(const ImplicitShape<D>&, const double*, Index, double*); \
  template void normals<D>(const ImplicitShape<D>&, const double*, Index, double*);         \
  template Bounds<D> transformed<D>(const Bounds<D>&, const RigidPose<D>&, double);         \
  template void ImplicitShape<D>::difference_normals(const double*, int, double, double*) const;
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
