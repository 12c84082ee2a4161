#include "meniscus/fluids/flows/half_step.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>

namespace meniscus::fluids {

template <class T, int D>
void take_half_back(grid::MacField<T, D>& velocity, grid::MacField<T, D>& change, const std::array<const std::uint8_t*, D>& known,
                    const std::array<const std::uint8_t*, D>& closed, double dt, double largest) {
  require(velocity.grid() == change.grid(), "the change must have the grid of the velocity");
  require(dt > 0 && largest >= 0, "dt must be positive, and the largest acceleration not negative");
  const T rate = static_cast<T>(1.0 / dt), most = static_cast<T>(largest), half = static_cast<T>(0.5 * dt);
  for (int d = 0; d < D; ++d) {
    const grid::FieldView<T, D> u = velocity.component(d).view(), a = change.component(d).view();
    const auto given = [&](int upper) {
      return !velocity.grid().shared(d, upper) && grid::fixes_normal_velocity(velocity.boundary()[grid::side_index(d, upper)]);
    };
    const Index first = given(0) ? 1 : 0, end = u.extents[d] - (given(1) ? 1 : 0), length = u.extents[D - 1];
    const std::uint8_t *valid = known[d], *shut = closed[d];
    grid::for_each_row<D>(u.extents, [&](const Coord<D>& c, Index i) {
      T *speed = u.at(c), *before = a.at(c);
      const bool along = d == D - 1, inside = along || (c[d] >= first && c[d] < end);
      for (Index k = 0; k < length; ++k) {
        const bool free = inside && (!along || (k >= first && k < end)) && valid[i + k] && !(shut && shut[i + k]);
        before[k] = free ? std::clamp((speed[k] - before[k]) * rate, -most, most) : T(0);
        speed[k] -= half * before[k];
      }
    });
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template void take_half_back<T, D>(grid::MacField<T, D>&, grid::MacField<T, D>&, const std::array<const std::uint8_t*, D>&, \
                                     const std::array<const std::uint8_t*, D>&, double, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
