/// Velocity of a solid through the closed parts of faces.
#pragma once

#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/solid_boundary.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

/// Fluxes of a moving solid. Through a planar piece, an affine velocity carries its area times its value at the centroid. The
/// closed parts of the faces of a cell and the piece of the wall in it enclose a polyhedron, so that with values at centroids a
/// rigid motion passes through the piece alone: along itself, not at all. Values at the centres of the faces would add a flux of
/// the spacing times the spin, which small open parts must let through.
template <class T, int D>
class WallVelocity {
 public:
  /// `flow`: per component the first owned sample of the fluid's velocity before the projection, with ghosts, in the layout of
  /// the solid's; `gain`: m/s, the part of it that pressure balances at walls. The ghosts of the solid's velocity, if it has one,
  /// are filled.
  WallVelocity(const grid::SolidBoundary<T, D>& solid, const std::array<const T*, D>& flow, const Vec<double, D>& gain)
      : flow_(flow), gain_(gain), nodes_(solid.levelset().view()), slides_(!solid.sticks()) {
    const grid::Grid<D>& grid = solid.grid();
    for (int d = 0; d < D; ++d) {
      faces_[d] = solid.velocity()->component(d).view();
      first_[d] = grid.shared(d, 0) ? -1 : 0;
      last_[d] = grid.shared(d, 1) ? grid.local_shape()[d] : grid.local_shape()[d] - 1;
    }
  }

  /// Flux through a face with this open fraction. A face that is closed though the solid leaves it open is a closed outlet of
  /// `cell` and moves as the wall does.
  double flux(std::size_t d, const Coord<D>& face, double open, const Coord<D>& cell) const {
    if (open == 1) return 0.0;
    const double centre = static_cast<double>(*faces_[d].at(face));
    const grid::FaceCut<D> cut = grid::cut_face<D>(nodes_.at(face), nodes_.strides, d);
    double sum = (1 - cut.open) * centre;
    if (cut.open > 0) {
      std::size_t i = 0;
      for (std::size_t t = 0; t < D; ++t)
        if (t != d) sum += cut.closed_moment[i++] * slope(d, face, t);
      if (open == 0) sum += cut.open * outlet(d, face, cell);
    }
    // Of a film, which is kept more open than the solid leaves it.
    if (open > cut.open) sum *= (1 - open) / (1 - cut.open);
    return sum;
  }

  /// Velocity on a face that is closed, beside `cell`.
  double on_closed_face(std::size_t d, const Coord<D>& face, const Coord<D>& cell) const {
    if (slides_ && open_part(d, face) > 0) return outlet(d, face, cell);
    return static_cast<double>(*faces_[d].at(face));
  }

  /// Difference of component d between the faces of a cell.
  double stretching(std::size_t d, const Coord<D>& cell) const {
    const T* lower = faces_[d].at(cell);
    return static_cast<double>(lower[faces_[d].strides[d]]) - static_cast<double>(*lower);
  }

 private:
  /// Change of component d per cell along another axis: that of the side where it is smaller, as the next face may belong to
  /// another solid, and none at an extremum.
  double slope(std::size_t d, const Coord<D>& face, std::size_t t) const {
    const T* u = faces_[d].at(face);
    const Index s = faces_[d].strides[t];
    const bool has_lower = face[t] > first_[t], has_upper = face[t] < last_[t];
    const double lower = has_lower ? static_cast<double>(u[0]) - static_cast<double>(u[-s]) : 0.0;
    const double upper = has_upper ? static_cast<double>(u[s]) - static_cast<double>(u[0]) : 0.0;
    if (!has_lower) return upper;
    if (!has_upper) return lower;
    if (lower * upper <= 0) return 0.0;
    return std::abs(lower) < std::abs(upper) ? lower : upper;
  }

  /// Velocity through the open part of a closed outlet: that of the solid, or where the flow slides, its normal component with
  /// what the flow in the cell has along the wall, up to the speed of the wall itself: a wall at rest keeps its outlets closed,
  /// or what flows there in one step would feed the next. The flow is read on the more open of the two faces across an axis: what
  /// lies in the solid is a continuation, which sides of the domain may end.
  double outlet(std::size_t d, const Coord<D>& face, const Coord<D>& cell) const {
    if (!slides_) return static_cast<double>(*faces_[d].at(face));
    const double* corner = nodes_.at(cell);
    Vec<double, D> normal, wall, flow;
    for (std::size_t t = 0; t < D; ++t) {
      const int axis = static_cast<int>(t);
      const Index s = faces_[t].strides[t];
      normal[t] = grid::corner_mean<D>(corner + nodes_.strides[t], nodes_.strides, axis) -
                  grid::corner_mean<D>(corner, nodes_.strides, axis);
      const T* u = faces_[t].at(cell);
      wall[t] = 0.5 * (static_cast<double>(u[0]) + static_cast<double>(u[s]));
      const T* v = flow_[t] + dot<D>(cell, faces_[t].strides);
      Coord<D> ahead = cell;
      ++ahead[t];
      const double share = open_part(t, cell), rest = open_part(t, ahead);
      flow[t] = (share > rest   ? static_cast<double>(v[0])
                 : rest > share ? static_cast<double>(v[s])
                                : 0.5 * (static_cast<double>(v[0]) + static_cast<double>(v[s]))) -
                gain_[t];
    }
    const double square = normal.squaredNorm();
    if (!(square > 0)) return wall[d];
    const Vec<double, D> across = normal * (normal.dot(wall) / square);
    const Vec<double, D> slide = flow - normal * (normal.dot(flow) / square);
    const double fastest = (wall - across).norm(), fast = slide.norm();
    return across[d] + (fast > fastest ? fastest / fast : 1.0) * slide[d];
  }

  double open_part(std::size_t d, const Coord<D>& face) const {
    return grid::cut_face<D>(nodes_.at(face), nodes_.strides, d).open;
  }

  std::array<grid::FieldView<const T, D>, D> faces_;
  std::array<const T*, D> flow_;
  Vec<double, D> gain_;
  Coord<D> first_{}, last_{};
  grid::FieldView<const double, D> nodes_;
  bool slides_;
};

}  // namespace meniscus::fluids
