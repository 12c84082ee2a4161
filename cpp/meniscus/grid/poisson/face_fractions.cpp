#include "meniscus/grid/poisson/face_fractions.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/rows.hpp"

#include <utility>

namespace meniscus::grid {
namespace {

/// Part of an edge with phi > 0.
double edge_fraction(double a, double b) {
  if (a > 0 && b > 0) return 1;
  if (a <= 0 && b <= 0) return 0;
  return a > 0 ? a / (a - b) : b / (b - a);
}

/// Part of a triangle with phi > 0.
double triangle_fraction(double a, double b, double c) {
  const int positive = (a > 0) + (b > 0) + (c > 0);
  if (positive == 3) return 1;
  if (positive == 0) return 0;
  // The corner that is alone on its side cuts off a triangle.
  const bool alone = positive == 1;
  if ((b > 0) == alone)
    std::swap(a, b);
  else if ((c > 0) == alone)
    std::swap(a, c);
  const double cut = a / (a - b) * (a / (a - c));
  return alone ? cut : 1 - cut;
}

/// Part of a square, its corners in cyclic order, with phi > 0.
double square_fraction(double a, double b, double c, double d) {
  const double centre = 0.25 * ((a + c) + (b + d));
  return 0.25 * ((triangle_fraction(a, b, centre) + triangle_fraction(c, d, centre)) +
                 (triangle_fraction(b, c, centre) + triangle_fraction(d, a, centre)));
}

struct SquareCorner {
  double x, y, phi;
};

/// Adds to `moment` the first moment of the part of a triangle with phi <= 0, about (0, 0), for a triangle of area 1/4 whose own
/// moment is `whole`.
void add_closed_moment(SquareCorner a, SquareCorner b, SquareCorner c, std::array<double, 2>& moment) {
  const std::array<double, 2> whole{(a.x + b.x + c.x) / 12, (a.y + b.y + c.y) / 12};
  const int positive = (a.phi > 0) + (b.phi > 0) + (c.phi > 0);
  if (positive == 3) return;
  std::array<double, 2> cut{};
  const bool alone = positive == 1;
  if (positive != 0) {
    if ((b.phi > 0) == alone)
      std::swap(a, b);
    else if ((c.phi > 0) == alone)
      std::swap(a, c);
    const double s = a.phi / (a.phi - b.phi), t = a.phi / (a.phi - c.phi);
    cut = {s * t * (3 * a.x + s * (b.x - a.x) + t * (c.x - a.x)) / 12,
           s * t * (3 * a.y + s * (b.y - a.y) + t * (c.y - a.y)) / 12};
  }
  const bool cut_is_closed = positive == 2;
  for (std::size_t i = 0; i < 2; ++i) moment[i] += cut_is_closed ? cut[i] : whole[i] - cut[i];
}

double snapped(double fraction, double smallest) { return fraction < smallest ? 0.0 : std::min(fraction, 1.0); }

/// Strides to the corners of a face: the node of its own index, and those one step further along the other axes.
template <int D>
std::array<Index, 2> corner_strides(const Coord<D>& strides, std::size_t axis) {
  if constexpr (D == 2) return {strides[1 - axis], 0};
  return {strides[axis == 0 ? 1 : 0], strides[axis == 2 ? 1 : 2]};
}

/// Open part of the face whose first corner is at p.
template <int D>
double open_part(const double* p, Index s, Index t) {
  constexpr double smallest = D == 2 ? smallest_open_fraction : smallest_open_fraction * smallest_open_fraction;
  if constexpr (D == 2) return snapped(edge_fraction(p[0], p[s]), smallest);
  if (p[0] > 0 && p[s] > 0 && p[t] > 0 && p[s + t] > 0) return 1;
  if (p[0] <= 0 && p[s] <= 0 && p[t] <= 0 && p[s + t] <= 0) return 0;
  return snapped(square_fraction(p[0], p[s], p[s + t], p[t]), smallest);
}

}  // namespace

template <int D>
void compute_open_fractions(const Field<double, D>& phi, const CellLayout<D>& layout, std::array<Block<double>, D>& open) {
  const FieldView<const double, D> nodes = phi.view();
  for (std::size_t d = 0; d < D; ++d) {
    if (open[d].size() != layout.size) {
      open[d] = Block<double>(layout.size);
      std::fill(open[d].begin(), open[d].end(), 0.0);
    }
    Coord<D> faces = layout.cells;
    ++faces[d];
    const Index length = faces[D - 1];
    const auto [across, along] = corner_strides<D>(nodes.strides, d);
    const Index s = across, t = along;
    parallel_for(0, product<D>(faces) / length, std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c{};
        if constexpr (D == 2) {
          c[0] = r;
        } else {
          c[0] = r / faces[1];
          c[1] = r % faces[1];
        }
        const double* p = nodes.at(c);
        double* out = open[d].data() + layout.index(c);
        for (Index k = 0; k < length; ++k) out[k] = open_part<D>(p + k, s, t);
      }
    });
  }
}

template <int D>
double open_fraction(const Field<double, D>& phi, int axis, const Coord<D>& face) {
  const FieldView<const double, D> nodes = phi.view();
  const auto [s, t] = corner_strides<D>(nodes.strides, static_cast<std::size_t>(axis));
  return open_part<D>(nodes.at(face), s, t);
}

template <int D>
FaceCut<D> cut_face(const double* p, const Coord<D>& strides, std::size_t axis) {
  const auto [s, t] = corner_strides<D>(strides, axis);
  FaceCut<D> cut{open_part<D>(p, s, t), {}};
  if (cut.open == 0 || cut.open == 1) return cut;
  if constexpr (D == 2) {
    cut.closed_moment[0] = (p[0] > 0 ? 0.5 : -0.5) * cut.open * (1 - cut.open);
  } else {
    const SquareCorner a{-0.5, -0.5, p[0]}, b{0.5, -0.5, p[s]}, c{0.5, 0.5, p[s + t]}, d{-0.5, 0.5, p[t]};
    const SquareCorner centre{0, 0, 0.25 * ((a.phi + c.phi) + (b.phi + d.phi))};
    add_closed_moment(a, b, centre, cut.closed_moment);
    add_closed_moment(b, c, centre, cut.closed_moment);
    add_closed_moment(c, d, centre, cut.closed_moment);
    add_closed_moment(d, a, centre, cut.closed_moment);
  }
  return cut;
}

template <int D>
void open_fractions_across(const Field<double, D>& phi, int axis, double* out) {
  const FieldView<const double, D> nodes = phi.view();
  const auto [s, t] = corner_strides<D>(nodes.strides, static_cast<std::size_t>(axis));
  const Coord<D> faces = Stagger<D>::face(axis).extents(phi.grid().local_shape());
  const Index length = faces[D - 1];
  parallel_rows<D>(faces, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const double* p = nodes.at(row_start<D>(faces, r));
      for (Index k = 0; k < length; ++k) out[r * length + k] = open_part<D>(p + k, s, t);
    }
  });
}

template void open_fractions_across<2>(const Field<double, 2>&, int, double*);
template void open_fractions_across<3>(const Field<double, 3>&, int, double*);
template FaceCut<2> cut_face<2>(const double*, const Coord<2>&, std::size_t);
template FaceCut<3> cut_face<3>(const double*, const Coord<3>&, std::size_t);
template double open_fraction<2>(const Field<double, 2>&, int, const Coord<2>&);
template double open_fraction<3>(const Field<double, 3>&, int, const Coord<3>&);
template void compute_open_fractions<2>(const Field<double, 2>&, const CellLayout<2>&, std::array<Block<double>, 2>&);
template void compute_open_fractions<3>(const Field<double, 3>&, const CellLayout<3>&, std::array<Block<double>, 3>&);

}  // namespace meniscus::grid
