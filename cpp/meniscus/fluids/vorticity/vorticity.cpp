#include "meniscus/fluids/vorticity/vorticity.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/row_sums.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

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
    const grid::FieldView<T, D> to = out[i]->view();
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
  velocity.fill_ghosts(time);
  const CellGradient<T, D> gradient(velocity);
  const grid::Grid<D>& grid = velocity.grid();
  return 0.5 * cell_volume(grid) *
         grid::sum_of_rows<D>(grid, grid.local_shape(), [&](const Coord<D>& c, Index count, double* out) {
           std::fill_n(out, count, 0.0);
           for (int i = 0; i < vorticity_components<D>; ++i) {
             const auto [a, b] = curl_axes<D>(i);
             const T* first = gradient.lower_face(a, c);
             const T* second = gradient.lower_face(b, c);
             for (Index k = 0; k < count; ++k) {
               const auto w = static_cast<double>(gradient.across(b, a, second + k) - gradient.across(a, b, first + k));
               out[k] += w * w;
             }
           }
         });
}

template <class T, int D>
double kinetic_energy(const grid::MacField<T, D>& velocity) {
  const grid::Grid<D>& grid = velocity.grid();
  std::array<numerics::BinnedSum, D> squares;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const grid::FieldView<const T, D> u = velocity.component(d).view();
    const Index last = u.extents[axis] - 1;
    // The block below owns a shared face; half the volume of a face on a side of the domain lies outside.
    const double at_first = grid.shared(d, 0) ? 0.0 : 0.5;
    const double at_last = grid.shared(d, 1) ? 1.0 : 0.5;
    squares[axis] = grid::sum_of_own_rows<D>(u.extents, [&](const Coord<D>& c, Index count, double* out) {
      const T* row = u.at(c);
      for (Index k = 0; k < count; ++k) {
        const auto v = static_cast<double>(row[k]);
        const Index face = d == D - 1 ? c[axis] + k : c[axis];
        out[k] = (face == 0 ? at_first : face == last ? at_last : 1.0) * (v * v);
      }
    });
  }
  parallel::global_sums(*grid.communicator(), squares.data(), D);
  double total = 0.0;
  for (const numerics::BinnedSum& s : squares) total += s.value();
  return 0.5 * cell_volume(grid) * total;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                       \
  template void compute_vorticity<T, D>(grid::MacField<T, D>&, double,                                   \
                                        const std::array<grid::Field<T, D>*, vorticity_components<D>>&); \
  template double enstrophy<T, D>(grid::MacField<T, D>&, double);                                        \
  template double kinetic_energy<T, D>(const grid::MacField<T, D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
