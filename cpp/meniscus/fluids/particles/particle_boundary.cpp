#include "meniscus/fluids/particles/particle_boundary.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/particles/particle_cells.hpp"
#include "meniscus/fluids/particles/push_out.hpp"

namespace meniscus::fluids {
namespace {

/// The largest number of the type T that is not above x, or the smallest not below it, so that clamped points are in the domain.
template <class T>
T inward(double x, bool upper) {
  const auto t = static_cast<T>(x);
  if (upper && static_cast<double>(t) > x) return std::nextafter(t, std::numeric_limits<T>::lowest());
  if (!upper && static_cast<double>(t) < x) return std::nextafter(t, std::numeric_limits<T>::max());
  return t;
}

}  // namespace

template <class T, int D>
ParticleBoundaryInfo apply_particle_boundary(grid::ParticleSet& particles, const grid::Grid<D>& grid,
                                             const std::array<bool, 2 * D>& open, const grid::Field<double, D>* solid,
                                             std::uint8_t* left) {
  require(!solid || (solid->grid() == grid && solid->stagger() == grid::Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  T* const positions = particle_positions<T, D>(particles);
  std::array<T, D> low;
  std::array<T, D> high;
  for (std::size_t d = 0; d < D; ++d) {
    const double origin = grid.origin()[static_cast<int>(d)];
    low[d] = inward<T>(origin, false);
    high[d] = inward<T>(origin + grid.spacing() * static_cast<double>(grid.shape()[d]), true);
  }
  const NoInterrupts whole;
  return parallel_reduce(
      Index{0}, particles.size(), Index{1024}, ParticleBoundaryInfo{},
      [&](Index begin, Index end) {
        ParticleBoundaryInfo info;
        for (Index i = begin; i < end; ++i) {
          T* x = positions + i * D;
          bool gone = false;
          for (std::size_t d = 0; d < D; ++d) {
            if (grid.periodic()[d]) continue;
            gone = gone || (x[d] < low[d] && open[2 * d]) || (x[d] > high[d] && open[2 * d + 1]);
          }
          left[i] = gone;
          info.left += gone;
          if (gone) continue;
          for (std::size_t d = 0; d < D; ++d)
            if (!grid.periodic()[d]) x[d] = std::clamp(x[d], low[d], high[d]);
          if (!solid) continue;
          const PushOutResult exit = push_out_of_solid<T, D>(*solid, x);
          info.moved += exit == PushOutResult::moved;
          info.stuck += exit == PushOutResult::stuck;
        }
        return info;
      },
      [](const ParticleBoundaryInfo& a, const ParticleBoundaryInfo& b) {
        return ParticleBoundaryInfo{a.left + b.left, a.moved + b.moved, a.stuck + b.stuck};
      });
}

#define MENISCUS_INSTANTIATE(T, D)                             \
  template ParticleBoundaryInfo apply_particle_boundary<T, D>( \
      grid::ParticleSet&, const grid::Grid<D>&, const std::array<bool, 2 * D>&, const grid::Field<double, D>*, std::uint8_t*);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
