/// Level set of a solid at faces.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::fluids {

/// Mean of the corner values of face `c` across `axis`, for a node field.
template <int D>
double at_face(const grid::FieldView<const double, D>& phi, int axis, const Coord<D>& c) {
  double sum = 0;
  for (int corner = 0; corner < (1 << (D - 1)); ++corner) {
    Coord<D> node = c;
    int bit = 0;
    for (int d = 0; d < D; ++d)
      if (d != axis) node[d] += (corner >> bit++) & 1;
    sum += *phi.at(node);
  }
  return sum / (1 << (D - 1));
}

}  // namespace meniscus::fluids
