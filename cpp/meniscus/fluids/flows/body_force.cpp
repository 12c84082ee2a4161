#include "meniscus/fluids/flows/body_force.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <cmath>

namespace meniscus::fluids {

template <class T, int D>
void add_acceleration(grid::MacField<T, D>& velocity, const Vec<double, D>& acceleration, double dt) {
  require(acceleration.allFinite() && std::isfinite(dt), "dt and the acceleration must be finite");
  for (int d = 0; d < D; ++d) {
    const double change = dt * acceleration[d];
    if (change == 0.0) continue;
    const grid::FieldView<T, D> view = velocity.component(d).view();
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        T* u = view.at(grid::row_start<D>(view.extents, r));
        // The sum is rounded once: in single precision a small change is not rounded before it is added.
        for (Index k = 0; k < view.extents[D - 1]; ++k) u[k] = static_cast<T>(static_cast<double>(u[k]) + change);
      }
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D) template void add_acceleration<T, D>(grid::MacField<T, D>&, const Vec<double, D>&, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
