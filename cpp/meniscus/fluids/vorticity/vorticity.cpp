#include "meniscus/fluids/vorticity/vorticity.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

/// Sums body(row coordinate), one number per row of `extents`, in a fixed tree.
template <int D, class Body>
double sum_rows(const Coord<D>& extents, Body&& body) {
  const Index length = extents[D - 1];
  return parallel_reduce(
      0, product<D>(extents) / length, std::max<Index>(1, 8192 / length), 0.0,
      [&](Index begin, Index end) {
        double sum = 0.0;
        for (Index r = begin; r < end; ++r) sum += body(grid::row_start<D>(extents, r));
        return sum;
      },
      [](double a, double b) { return a + b; });
}

template <int D>
double cell_volume(const grid::Grid<D>& grid) {
  return std::pow(grid.spacing(), D);
}

}  // namespace

template <class T, int D>
void compute_vorticity(grid::MacField<T, D>& velocity, double time,
                       const std::array<grid::Field<T, D>*, vorticity_components<D>>& out) {
  for (const grid::Field<T, D>* f : out)
    require(f->grid() == velocity.grid() && f->stagger() == grid::Stagger<D>::cell(),
            "the vorticity must be on the cells of the grid of the velocity");
  velocity.fill_ghosts(time);
  const CellGradient<T, D> gradient(velocity);
  for (int i = 0; i < vorticity_components<D>; ++i) {
    const auto [a, b] = curl_axes<D>(i);
    const grid::FieldView<T, D> to = out[static_cast<std::size_t>(i)]->view();
    grid::parallel_rows<D>(to.extents, [&, a = a, b = b](Index begin, Index end) {
      simd_dispatch([&] {
        for (Index r = begin; r < end; ++r) {
          const Coord<D> c = grid::row_start<D>(to.extents, r);
          const T* first = gradient.lower_face(a, c);
          const T* second = gradient.lower_face(b, c);
          T* row = to.at(c);
          for (Index k = 0; k < to.extents[D - 1]; ++k)
            row[k] = gradient.across(b, a, second + k) - gradient.across(a, b, first + k);
        }
      });
    });
  }
}

template <class T, int D>
double enstrophy(grid::MacField<T, D>& velocity, double time) {
  grid::require_one_block(velocity.grid(), "the enstrophy");
  velocity.fill_ghosts(time);
  const CellGradient<T, D> gradient(velocity);
  const Coord<D>& cells = velocity.grid().local_shape();
  return 0.5 * cell_volume(velocity.grid()) * sum_rows<D>(cells, [&](const Coord<D>& c) {
           double sum = 0.0;
           for (int i = 0; i < vorticity_components<D>; ++i) {
             const auto [a, b] = curl_axes<D>(i);
             const T* first = gradient.lower_face(a, c);
             const T* second = gradient.lower_face(b, c);
             for (Index k = 0; k < cells[D - 1]; ++k) {
               const auto w = static_cast<double>(gradient.across(b, a, second + k) - gradient.across(a, b, first + k));
               sum += w * w;
             }
           }
           return sum;
         });
}

template <class T, int D>
double kinetic_energy(const grid::MacField<T, D>& velocity) {
  const grid::Grid<D>& grid = velocity.grid();
  grid::require_one_block(grid, "the kinetic energy");
  double total = 0.0;
  for (int d = 0; d < D; ++d) {
    const grid::FieldView<const T, D> u = velocity.component(d).view();
    const Index last = u.extents[static_cast<std::size_t>(d)] - 1;
    // The block below owns a shared face; half the volume of a face on a side of the domain lies outside.
    const double at_first = grid.shared(d, 0) ? 0.0 : 0.5;
    const double at_last = grid.shared(d, 1) ? 1.0 : 0.5;
    const auto weight = [&](Index face) { return face == 0 ? at_first : face == last ? at_last : 1.0; };
    total += sum_rows<D>(u.extents, [&](const Coord<D>& c) {
      const T* row = u.at(c);
      double sum = 0.0;
      for (Index k = 0; k < u.extents[D - 1]; ++k) {
        const auto v = static_cast<double>(row[k]);
        sum += (d == D - 1 ? weight(k) : 1.0) * (v * v);
      }
      return d == D - 1 ? sum : weight(c[static_cast<std::size_t>(d)]) * sum;
    });
  }
  return 0.5 * cell_volume(grid) * total;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                       \
  template void compute_vorticity<T, D>(grid::MacField<T, D>&, double,                                   \
                                        const std::array<grid::Field<T, D>*, vorticity_components<D>>&); \
  template double enstrophy<T, D>(grid::MacField<T, D>&, double);                                        \
  template double kinetic_energy<T, D>(const grid::MacField<T, D>&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
