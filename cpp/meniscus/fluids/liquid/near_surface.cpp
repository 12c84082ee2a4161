#include "meniscus/fluids/liquid/near_surface.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/liquid/liquid_components.hpp"
#include "meniscus/fluids/liquid/liquid_halves.hpp"
#include "meniscus/grid/blocks/row_sums.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/surface/redistancing/extension.hpp"

#include <cmath>

namespace meniscus::fluids {

using grid::FieldView;
using grid::row_start;

template <class T, int D>
void near_surface_faces(grid::Field<T, D>& levelset, int axis, double distance, std::uint8_t* near) {
  levelset.fill_ghosts(0.0);
  const FieldView<const T, D> phi = std::as_const(levelset).view();
  const Coord<D> faces = grid::Stagger<D>::face(axis).extents(phi.extents);
  const Index step = phi.strides[axis];
  const T reach = static_cast<T>(distance);
  grid::parallel_rows<D>(faces, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* upper = phi.at(row_start<D>(faces, r));
      std::uint8_t* to = near + r * faces[D - 1];
      for (Index k = 0; k < faces[D - 1]; ++k) to[k] = std::abs(upper[k]) < reach || std::abs(upper[k - step]) < reach;
    }
  });
}

template <class T, int D>
void near_air_cells(const grid::Field<T, D>& levelset, double distance, std::uint8_t* air) {
  const FieldView<const T, D> phi = levelset.view();
  const T reach = static_cast<T>(distance);
  grid::parallel_rows<D>(phi.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* row = phi.at(row_start<D>(phi.extents, r));
      std::uint8_t* to = air + r * phi.extents[D - 1];
      for (Index k = 0; k < phi.extents[D - 1]; ++k) to[k] = row[k] > 0 && row[k] < reach;
    }
  });
}

template <class T, int D>
void air_around_liquid(grid::Field<T, D>& levelset, double distance, std::span<const std::array<const std::uint8_t*, D>> closed,
                       std::uint8_t* air, const std::array<std::uint8_t*, D>& given) {
  near_air_cells(levelset, distance, air);
  for (int d = 0; d < D; ++d) {
    liquid_faces(levelset, d, given[d]);
    const Index faces = product<D>(grid::Stagger<D>::face(d).extents(levelset.extents()));
    for (const auto& masks : closed) grid::unite_masks(faces, given[d], masks[d], given[d]);
  }
}

template <class T, int D>
void extend_from_liquid(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset,
                        const std::array<const std::uint8_t*, D>& closed, double band, const std::array<std::uint8_t*, D>& liquid,
                        const std::array<std::uint8_t*, D>& known, Workspace& workspace) {
  for (int d = 0; d < D; ++d) {
    liquid_faces(levelset, d, liquid[d]);
    const Index faces = product<D>(grid::Stagger<D>::face(d).extents(levelset.extents()));
    grid::select_mask(faces, liquid[d], closed[d], grid::Where::mask_clear, known[d]);
  }
  for (int d = 0; d < D; ++d)
    surface::extend(velocity.component(d), levelset, known[d], band, surface::ExtensionSide::outside, workspace);
}

template <class T, int D>
double liquid_energy(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid) {
  require(velocity.grid() == levelset.grid(), "the level set must have the grid of the velocity");
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const FieldView<const T, D> phi = std::as_const(levelset).view();
  const FieldView<const double, D> nodes = solid ? solid->view() : FieldView<const double, D>{};
  std::array<FieldView<const T, D>, D> u;
  for (int d = 0; d < D; ++d) u[d] = velocity.component(d).view();
  const double total = grid::sum_of_rows<D>(levelset.grid(), phi.extents, [&](const Coord<D>& c, Index count, double* out) {
    const T* at = phi.at(c);
    const double* lowest = solid ? nodes.at(c) : nullptr;
    for (Index k = 0; k < count; ++k) {
      out[k] = 0.0;
      const auto halves = liquid_halves<T, D>(at + k, phi.strides, lowest ? lowest + k : nullptr, nodes.strides);
      for (std::size_t d = 0; d < D; ++d) {
        const T* lower = u[d].at(c) + k;
        const auto a = static_cast<double>(*lower), b = static_cast<double>(lower[u[d].strides[d]]);
        out[k] += halves[d][0] * a * a + halves[d][1] * b * b;
      }
    }
  });
  return 0.25 * total * std::pow(velocity.grid().spacing(), D);
}

template <class T, int D>
LiquidMotion liquid_motion(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const grid::Field<double, D>* solid,
                           const std::array<std::uint8_t*, D>& liquid) {
  std::array<const std::uint8_t*, D> masks;
  for (int d = 0; d < D; ++d) liquid_faces(levelset, d, liquid[d]);
  std::copy(liquid.begin(), liquid.end(), masks.begin());
  return {liquid_energy(velocity, levelset, solid), grid::max_component_speed<T, D>(velocity, masks)};
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template void near_surface_faces<T, D>(grid::Field<T, D>&, int, double, std::uint8_t*);                                      \
  template void near_air_cells<T, D>(const grid::Field<T, D>&, double, std::uint8_t*);                                         \
  template double liquid_energy<T, D>(const grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*);         \
  template void air_around_liquid<T, D>(grid::Field<T, D>&, double, std::span<const std::array<const std::uint8_t*, D>>,       \
                                        std::uint8_t*, const std::array<std::uint8_t*, D>&);                                   \
  template void extend_from_liquid<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const std::array<const std::uint8_t*, D>&, \
                                         double, const std::array<std::uint8_t*, D>&, const std::array<std::uint8_t*, D>&,     \
                                         Workspace&);                                                                          \
  template LiquidMotion liquid_motion<T, D>(const grid::MacField<T, D>&, grid::Field<T, D>&, const grid::Field<double, D>*,    \
                                            const std::array<std::uint8_t*, D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
