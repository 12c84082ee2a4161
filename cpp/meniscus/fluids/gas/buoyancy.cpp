#include "meniscus/fluids/gas/buoyancy.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus {

template <class T, int D>
void add_buoyancy(MacField<T, D>& velocity, Field<T, D>* density, Field<T, D>* temperature, const Buoyancy<D>& buoyancy,
                  double dt, double time) {
  for (Field<T, D>* field : {density, temperature}) {
    if (!field) continue;
    require(field->grid() == velocity.grid(), "density and temperature must have the grid of the velocity");
    field->fill_ghosts(time);
  }
  for (int d = 0; d < D; ++d) {
    const double weight = dt * buoyancy.up[d];
    if (weight == 0) continue;
    const FieldView<T, D> view = velocity.component(d).view();
    const T a = static_cast<T>(-0.5 * weight * buoyancy.density_weight);
    const T b = static_cast<T>(0.5 * weight * buoyancy.temperature_weight);
    const T ambient = static_cast<T>(2 * buoyancy.ambient);
    for_each_run<D>(view.extents, [&](const RowRun<D>& run) {
      T* u = view.at(run.base);
      const int n = run.count;
      const auto beside = [&](const Field<T, D>& field) { return std::as_const(field).view().at(run.base); };
      const T* rho = density ? beside(*density) : nullptr;
      const T* heat = temperature ? beside(*temperature) : nullptr;
      const Index s = density       ? density->view().strides[static_cast<std::size_t>(d)]
                      : temperature ? temperature->view().strides[static_cast<std::size_t>(d)]
                                    : 0;
      simd_dispatch([=] {
        if (rho)
          for (int l = 0; l < n; ++l) u[l] += a * (rho[l - s] + rho[l]);
        if (heat)
          for (int l = 0; l < n; ++l) u[l] += b * (heat[l - s] + heat[l] - ambient);
      });
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void add_buoyancy<T, D>(MacField<T, D>&, Field<T, D>*, Field<T, D>*, const Buoyancy<D>&, double, double);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus
