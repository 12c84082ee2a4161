#include "meniscus/fluids/gas/buoyancy.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::fluids {

template <class T, int D>
void add_buoyancy(grid::MacField<T, D>& velocity, grid::Field<T, D>* density, grid::Field<T, D>* temperature,
                  const Buoyancy<D>& buoyancy, double dt, double time) {
  for (grid::Field<T, D>* field : {density, temperature}) {
    if (!field) continue;
    require(field->grid() == velocity.grid(), "density and temperature must have the grid of the velocity");
    field->fill_ghosts(time);
  }
  for (int d = 0; d < D; ++d) {
    const double weight = dt * buoyancy.up[d];
    if (weight == 0) continue;
    const grid::FieldView<T, D> view = velocity.component(d).view();
    const T a = static_cast<T>(-0.5 * weight * buoyancy.density_weight);
    const T b = static_cast<T>(0.5 * weight * buoyancy.temperature_weight);
    const T ambient = static_cast<T>(2 * buoyancy.ambient);
    grid::for_each_run<D>(view.extents, [&](const grid::RowRun<D>& run) {
      T* u = view.at(run.base);
      const int n = run.count;
      const auto beside = [&](const grid::Field<T, D>& field) { return std::as_const(field).view().at(run.base); };
      const T* rho = density ? beside(*density) : nullptr;
      const T* heat = temperature ? beside(*temperature) : nullptr;
      const Index s = density ? density->view().strides[d] : temperature ? temperature->view().strides[d] : 0;
      simd_dispatch([=] {
        if (rho)
          for (int l = 0; l < n; ++l) u[l] += a * (rho[l - s] + rho[l]);
        if (heat)
          for (int l = 0; l < n; ++l) u[l] += b * (heat[l - s] + heat[l] - ambient);
      });
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template void add_buoyancy<T, D>(grid::MacField<T, D>&, grid::Field<T, D>*, grid::Field<T, D>*, const Buoyancy<D>&, double, \
                                   double);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
