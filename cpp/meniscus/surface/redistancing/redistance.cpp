#include "meniscus/surface/redistancing/redistance.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/surface/redistancing/fast_marching.hpp"
#include "meniscus/surface/redistancing/parallel_marching.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

/// Relative difference up to which a value counts as the distance already.
template <class T>
constexpr T same = T(8) * std::numeric_limits<T>::epsilon();

/// New values of a strip: u are distances (spacings), `far` what samples beyond the band become, 0 to leave them alone.
template <class T>
MENISCUS_INLINE Index commit_strip(const T* u, T* phi, int lanes, T spacing, T limit, T far) {
  int reached = 0;
  for (int k = 0; k < lanes; ++k) {
    const T old = phi[k], size = std::abs(old), d = std::abs(u[k]);
    const bool near = d < limit;
    // A positive sample stays positive, a negative one negative.
    T distance = d * spacing;
    distance = distance > std::numeric_limits<T>::min() ? distance : std::numeric_limits<T>::min();
    const T larger = size > spacing ? size : spacing;
    distance = std::abs(distance - size) <= same<T> * larger ? size : distance;
    distance = near ? distance : far > T(0) ? far : size;
    const bool hidden = u[k] <= static_cast<T>(-infinite_distance);
    const T value = old > T(0) ? distance : -distance;
    phi[k] = hidden ? old : (old == T(0)) & (near & (d <= std::numeric_limits<T>::min())) ? T(0) : value;
    reached += near;
  }
  return reached;
}

template <class T>
MENISCUS_INLINE void commit_far(T* phi, int lanes, T far) {
  int differs = 0;
  for (int k = 0; k < lanes; ++k) differs |= std::abs(phi[k]) != far;
  if (!differs) return;
  for (int k = 0; k < lanes; ++k) phi[k] = phi[k] > T(0) ? far : -far;
}

template <class T, int D, class Visibility>
Index redistance_visible(grid::Field<T, D>& phi, const RedistanceOptions& options, const Visibility& visibility,
                         Workspace& workspace) {
  const auto spacing = static_cast<T>(phi.grid().spacing());
  const bool banded = std::isfinite(options.band);
  const T far = banded ? static_cast<T>(options.band) : T(0);
  const T limit = banded ? static_cast<T>(options.band / phi.grid().spacing()) : static_cast<T>(0.5 * infinite_distance);

  DistanceStrips<T, D> strips(phi.layout(), workspace);
  const StripGrid<D>& grid = strips.grid;
  StripQueue<D> queue(grid, workspace);
  if (!find_interface<T, D, Visibility>(phi, options.interface, visibility, strips, queue, workspace)) require_finite(phi, "phi");
  if (options.method == EikonalMethod::parallel)
    march_in_parallel<T, D, Visibility>(strips, queue, limit, visibility);
  else
    march<T, D, Visibility>(strips, limit, visibility, workspace);

  const grid::FieldView<T, D> view = phi.view();
  T* first = view.at(grid.first);
  const NoInterrupts commit;
  const Index reached = parallel_reduce(
      0, grid.rows, grid.piece(), Index{0},
      [&](Index b, Index e) {
        Index n = 0;
        simd_dispatch([&] {
          for (Index row = b; row < e; ++row) {
            const Coord<D> start = grid.row_coordinate(row);
            for (Index s = 0; s < grid.row_strips; ++s) {
              const Index strip = row * grid.row_strips + s;
              T* p = first + dot<D>(start, view.strides) + s * strip_lanes;
              if (strips.touched.data()[strip]) {
                n += commit_strip<T>(strips.at(strip), p, grid.lanes(s), spacing, limit, far);
              } else if (banded) {
                if constexpr (Visibility::all_visible) {
                  commit_far<T>(p, grid.lanes(s), far);
                } else {
                  Coord<D> c = start;
                  for (int k = 0; k < grid.lanes(s); ++k) {
                    c[D - 1] = s * strip_lanes + k;
                    if (!visibility.hidden(strips.sample(c))) p[k] = p[k] > T(0) ? far : -far;
                  }
                }
              }
            }
          }
        });
        return n;
      },
      [](Index a, Index b) { return a + b; });
  phi.layout().halo.exchange(phi.storage().data());
  return reached;
}

}  // namespace

template <class T, int D>
Index redistance(grid::Field<T, D>& phi, const RedistanceOptions& options, const std::uint8_t* hidden, Workspace& workspace) {
  require(options.band > 0.0, "band must be positive, got ", options.band);
  if (hidden) return redistance_visible<T, D>(phi, options, MaskedSamples{hidden}, workspace);
  return redistance_visible<T, D>(phi, options, EverySample{}, workspace);
}

#define MENISCUS_INSTANTIATE(T, D) \
  template Index redistance<T, D>(grid::Field<T, D>&, const RedistanceOptions&, const std::uint8_t*, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
