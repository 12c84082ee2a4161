#include "meniscus/surface/shapes/implicit_shape.hpp"

#include "meniscus/core/parallel.hpp"

namespace meniscus::surface {

template <int D>
void signed_distance(const ImplicitShape<D>& shape, const double* points, Index n, double* out) {
  parallel_for(0, n, shape_batch, [&](Index b, Index e) { shape.evaluate(points + b * D, static_cast<int>(e - b), out + b); });
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
  template Bounds<D> transformed<D>(const Bounds<D>&, const RigidPose<D>&, double);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
