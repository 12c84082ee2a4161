/// Derivatives of a staggered velocity at cell centres.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Central differences of a staggered velocity. Along its own axis, a component changes by the difference of the two faces of the
/// cell; along another axis, by the difference of its means in the two neighbour cells. Linear velocities come out exactly.
/// Ghosts must be up to date; cells -2 to n + 1 per axis are valid.
template <class T, int D>
struct CellGradient {
  std::array<grid::FieldView<const T, D>, D> component;
  T inverse_spacing;

  explicit CellGradient(const grid::MacField<T, D>& velocity) : inverse_spacing(static_cast<T>(1.0 / velocity.grid().spacing())) {
    for (int d = 0; d < D; ++d) component[d] = velocity.component(d).view();
  }

  /// Address of the lower face of component a of cell c.
  const T* lower_face(int a, const Coord<D>& c) const { return component[a].at(c); }

  /// d u_a / d x_b in the cell whose lower face is `face`; a and b differ.
  T across(int a, int b, const T* face) const {
    const Coord<D>& s = component[a].strides;
    const Index own = s[a];
    const Index other = s[b];
    return T(0.25) * inverse_spacing * ((face[other] + face[other + own]) - (face[-other] + face[own - other]));
  }

  /// d u_a / d x_a.
  T along(int a, const T* face) const {
    const Index axis = a;
    return inverse_spacing * (face[component[axis].strides[axis]] - face[0]);
  }

  T operator()(int a, int b, const T* face) const { return a == b ? along(a, face) : across(a, b, face); }
};

/// Components of a vorticity: one in two dimensions.
template <int D>
inline constexpr int vorticity_components = D == 2 ? 1 : 3;

/// The axes (a, b) of component i of a vorticity: d u_b / d x_a - d u_a / d x_b.
template <int D>
constexpr std::array<int, 2> curl_axes(int i) {
  if (D == 2) return {0, 1};
  return {(i + 1) % 3, (i + 2) % 3};
}

}  // namespace meniscus::fluids
