/// Rate of strain of a velocity on faces, at points.
#pragma once

#include "meniscus/grid/particles/field_probe.hpp"

#include <array>
#include <utility>

namespace meniscus::fluids {

/// Of a velocity whose ghosts are filled.
template <class T, int D>
class VelocityProbe {
 public:
  explicit VelocityProbe(const grid::MacField<T, D>& velocity) : VelocityProbe(velocity, std::make_index_sequence<D>{}) {}

  /// Frobenius norm of the symmetric gradient, 1/s, at a point, m.
  double strain_rate(const Vec<double, D>& x) const {
    Eigen::Matrix<double, D, D> gradient;
    for (int d = 0; d < D; ++d) gradient.row(d) = components_[d](x).gradient.transpose();
    return 0.5 * (gradient + gradient.transpose()).norm();
  }

 private:
  template <std::size_t... d>
  VelocityProbe(const grid::MacField<T, D>& velocity, std::index_sequence<d...>)
      : components_{grid::FieldProbe<T, D>(velocity.component(static_cast<int>(d)))...} {}

  std::array<grid::FieldProbe<T, D>, D> components_;
};

}  // namespace meniscus::fluids
