#include "meniscus/fluids/particles/surface/anisotropic_kernels.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace meniscus::fluids {
namespace {

/// Fraction of the way to the mean of its neighbourhood by which a particle moves (Yu and Turk, section 3.1).
constexpr double smoothing = 0.9;
/// Neighbours, the particle included, up to which it counts as alone, and the size of its kernel then. In the plane the same
/// share of a full neighbourhood.
constexpr int alone_3d = 25;
constexpr int alone_2d = 5;
constexpr double alone_size = 0.5;
/// Kernels are no longer than this, in those of full neighbourhoods, so that a search ends, and no shorter than alone_size
/// squared.
constexpr double longest_kernel = 1.5;
/// Nor do particles move farther than this, in supports, so that a kernel reaches two supports at most.
constexpr double farthest_shift = 0.5;

/// Variance per axis of a full neighbourhood of radius 1 with the weights 1 - r^3.
template <int D>
constexpr double full_variance = D == 3 ? 0.15 : 5.0 / 28.0;

/// Integral of the cubic spline P over space is 1 / spline_norm.
template <int D>
constexpr double spline_norm = D == 3 ? 1.0 / std::numbers::pi : 10.0 / (7.0 * std::numbers::pi);

double spline(double q) {
  if (q >= 2.0) return 0.0;
  if (q >= 1.0) return 0.25 * (2.0 - q) * (2.0 - q) * (2.0 - q);
  return 1.0 - 1.5 * q * q + 0.75 * q * q * q;
}

/// P'(q) / q.
double spline_slope(double q) {
  if (q >= 2.0) return 0.0;
  if (q >= 1.0) return -0.75 * (2.0 - q) * (2.0 - q) / q;
  return -3.0 + 2.25 * q;
}

}  // namespace

template <int D>
AnisotropicKernel<D> anisotropic_kernel(const grid::CellParticles<D>& particles, const Coord<D>& cell, const double* x,
                                        double support) {
  using Vector = Vec<double, D>;
  using Matrix = Eigen::Matrix<double, D, D>;
  const auto own = Vector(Eigen::Map<const Vector>(x));
  const Index reach = static_cast<Index>(std::ceil(support));
  const double length = 0.5 * support;
  double weights = 0.0;
  double density = 0.0;
  int count = 0;
  Vector mean = Vector::Zero();
  Matrix square = Matrix::Zero();
  grid::for_each_neighbor<D>(particles, cell, 0, reach, [&](Index, const std::array<double, D>& p, const auto&) {
    const Vector r = Vector(Eigen::Map<const Vector>(p.data())) - own;
    const double s2 = r.squaredNorm();
    if (s2 >= support * support) return;
    const double distance = std::sqrt(s2);
    const double s = distance / support;
    const double w = 1.0 - s * s * s;
    weights += w;
    mean += w * r;
    square += w * r * r.transpose();
    density += spline(distance / length);
    ++count;
  });
  // The particle itself has weight 1, so that the weights are not zero.
  mean /= weights;
  Matrix rotation = Matrix::Identity();
  Vector size = Vector::Constant(alone_size);
  const Matrix covariance = square / weights - mean * mean.transpose();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(covariance / (full_variance<D> * support * support));
  if (count > (D == 3 ? alone_3d : alone_2d) && eigen.info() == Eigen::Success) {
    rotation = eigen.eigenvectors();
    const double largest = std::clamp(eigen.eigenvalues()[D - 1], alone_size * alone_size, longest_kernel);
    for (int d = 0; d < D; ++d) size[d] = std::clamp(eigen.eigenvalues()[d], largest / max_anisotropy, largest);
  }
  AnisotropicKernel<D> kernel;
  const Vector shift = (smoothing * mean).cwiseMax(-farthest_shift * support).cwiseMin(farthest_shift * support);
  kernel.center = own + shift;
  Vector inverse = (length * size).cwiseInverse();
  kernel.stretch = rotation * inverse.asDiagonal() * rotation.transpose();
  // The volume of a particle is that of space over the density, and the kernel has integral 1.
  const double volume = std::pow(length, D) / (spline_norm<D> * density);
  kernel.scale = volume * spline_norm<D> * inverse.prod();
  kernel.reach = 2.0 * length * size.maxCoeff() + shift.cwiseAbs().maxCoeff();
  return kernel;
}

template <int D>
KernelSum<D> sum_kernels(const grid::CellParticles<D>& particles, const AnisotropicKernel<D>* kernels, const Coord<D>& cell,
                         Index reach, const Vec<double, D>& y) {
  KernelSum<D> sum;
  grid::for_each_neighbor<D>(particles, cell, 0, reach,
                             [&](Index i, const std::array<double, D>& image, const std::array<double, D>& scale) {
                               const AnisotropicKernel<D>& k = kernels[i];
                               // The image of a particle has the image of its kernel; the point is brought to where the particle
                               // itself is.
                               const Eigen::Map<const Vec<double, D>> at(image.data());
                               const Eigen::Map<const Vec<double, D>> sign(scale.data());
                               const Eigen::Map<const Vec<double, D>> own(particles.positions + i * D);
                               const Vec<double, D> r = sign.cwiseProduct(y - at) - (k.center - own);
                               const Vec<double, D> g = k.stretch * r;
                               const double q2 = g.squaredNorm();
                               if (q2 >= 4.0) return;
                               const double q = std::sqrt(q2);
                               sum.value += k.scale * spline(q);
                               const Vec<double, D> slope = k.scale * spline_slope(q) * (k.stretch * g);
                               sum.gradient += sign.cwiseProduct(slope);
                             });
  return sum;
}

#define MENISCUS_INSTANTIATE(D)                                                                                               \
  template AnisotropicKernel<D> anisotropic_kernel<D>(const grid::CellParticles<D>&, const Coord<D>&, const double*, double); \
  template KernelSum<D> sum_kernels<D>(const grid::CellParticles<D>&, const AnisotropicKernel<D>*, const Coord<D>&, Index,    \
                                       const Vec<double, D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
