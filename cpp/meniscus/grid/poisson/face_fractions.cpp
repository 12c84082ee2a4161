#include "meniscus/grid/poisson/face_fractions.hpp"

#include "meniscus/core/parallel.hpp"

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

double snapped(double fraction, double smallest) { return fraction < smallest ? 0.0 : std::min(fraction, 1.0); }

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
    const double smallest = D == 2 ? smallest_open_fraction : smallest_open_fraction * smallest_open_fraction;
    // The corners of a face: the node of its own index, and those one step further along the other axes.
    const Index s = nodes.strides[D == 2 ? 1 - d : (d == 0 ? 1 : 0)];
    const Index t = D == 2 ? 0 : nodes.strides[d == 2 ? 1 : 2];
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
        for (Index k = 0; k < length; ++k) {
          double fraction;
          if constexpr (D == 2)
            fraction = edge_fraction(p[k], p[k + s]);
          else if (p[k] > 0 && p[k + s] > 0 && p[k + t] > 0 && p[k + s + t] > 0)
            fraction = 1;
          else if (p[k] <= 0 && p[k + s] <= 0 && p[k + t] <= 0 && p[k + s + t] <= 0)
            fraction = 0;
          else
            fraction = square_fraction(p[k], p[k + s], p[k + s + t], p[k + t]);
          out[k] = snapped(fraction, smallest);
        }
      }
    });
  }
}

template void compute_open_fractions<2>(const Field<double, 2>&, const CellLayout<2>&, std::array<Block<double>, 2>&);
template void compute_open_fractions<3>(const Field<double, 3>&, const CellLayout<3>&, std::array<Block<double>, 3>&);

}  // namespace meniscus::grid
