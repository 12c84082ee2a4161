#include "meniscus/surface/redistancing/redistance.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/parallel/reductions.hpp"
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

/// Redistancing of the samples of the strips that this block updates, in the array that `grid` describes. Throws before any
/// sample is changed; when all are, calls finish().
template <class T, int D, class Visibility, class Finish>
Index redistance_strips(const grid::Field<T, D>& phi, const StripGrid<D>& grid, const grid::FieldView<T, D>& view,
                        const RedistanceOptions& options, const Visibility& visibility, Workspace& workspace, Finish&& finish) {
  const auto spacing = static_cast<T>(phi.grid().spacing());
  const bool banded = std::isfinite(options.band);
  const T far = banded ? static_cast<T>(options.band) : T(0);
  const T limit = banded ? static_cast<T>(options.band / phi.grid().spacing()) : static_cast<T>(0.5 * infinite_distance);
  const bool with_inflow = options.at_sides == AtSides::goes_on || visibility.any_continued();
  const double reach = with_inflow ? static_cast<double>(limit) : 0.0;

  DistanceStrips<T, D> strips(grid, workspace);
  StripQueue<D> queue(grid, workspace);
  StripExchange<D> exchange(phi.grid(), grid);
  const bool finite =
      find_interface<T, D, Visibility>({view.origin, view.extents, view.strides}, phi.grid().spacing(), options.interface,
                                       options.at_sides, reach, visibility, strips, queue, workspace);
  if (exchange.any(!finite)) {
    require_finite(phi, "phi");
    require(false, "phi must be finite, but a sample of another block is not");
  }
  queue.share(exchange, strips.whole_strips(), strips.touched.data());
  if (options.method == EikonalMethod::parallel)
    march_in_parallel<T, D, Visibility>(strips, queue, exchange, limit, visibility);
  else
    march<T, D, Visibility>(strips, limit, visibility, workspace);

  T* first = view.at(grid.first);
  const NoInterrupts commit;
  const Index reached = parallel_reduce(
      0, grid.rows, grid.piece(), Index{0},
      [&](Index b, Index e) {
        Index n = 0;
        simd_dispatch([&] {
          for (Index row = b; row < e; ++row) {
            const Coord<D> start = grid.row_coordinate(row);
            if (!grid.own_row(start)) continue;
            for (Index s = grid.own_begin; s < grid.own_end; ++s) {
              const Index strip = row * grid.row_strips + s;
              T* p = first + dot<D>(start, view.strides) + grid.strip_start(s);
              if (strips.touched.data()[strip]) {
                n += commit_strip<T>(strips.at(strip), p, grid.lanes(s), spacing, limit, far);
              } else if (banded) {
                if constexpr (Visibility::all_visible) {
                  commit_far<T>(p, grid.lanes(s), far);
                } else {
                  Coord<D> c = start;
                  for (int k = 0; k < grid.lanes(s); ++k) {
                    c[D - 1] = grid.strip_start(s) + k;
                    if (!visibility.hidden(grid.sample(c))) p[k] = p[k] > T(0) ? far : -far;
                  }
                }
              }
            }
          }
        });
        return n;
      },
      [](Index a, Index b) { return a + b; });
  finish();
  return reached;
}

/// In a domain of one block the strips are in the field itself.
template <class T, int D, class Visibility>
Index redistance_whole(grid::Field<T, D>& phi, const RedistanceOptions& options, const Visibility& visibility,
                       Workspace& workspace) {
  const StripGrid<D> grid(phi.layout());
  return redistance_strips<T, D>(phi, grid, phi.view(), options, visibility, workspace,
                                 [&] { phi.layout().halo.exchange(phi.storage().data()); });
}

/// In a domain cut into blocks, every block works on the window of its strips.
template <class T, int D>
Index redistance_block(grid::Field<T, D>& phi, const RedistanceOptions& options, const SampleMasks& masks, Workspace& workspace) {
  require(options.method == EikonalMethod::parallel, "fast marching needs a grid of one block, this one is cut into several");
  const grid::FieldView<T, D> view = phi.view();
  const StripGrid<D> grid(phi.layout());
  grid::StripWindow<D> window(phi.layout(), grid);
  const auto level = window.template take<T>(workspace);
  const grid::FieldView<T, D> samples = window.view(level);
  window.template fetch<T>(view.origin, view.strides, samples);
  const auto finish = [&] {
    window.template fetch_back<T>(samples, view.origin, view.strides);
    phi.layout().halo.exchange(phi.storage().data());
  };
  Index reached = 0;
  if (masks.hidden || masks.outside) {
    std::array<Workspace::Lease<std::uint8_t>, 2> leases;
    const auto fetched = [&](const std::uint8_t* mask, Workspace::Lease<std::uint8_t>& lease) -> const std::uint8_t* {
      if (!mask) return nullptr;
      lease = window.template take<std::uint8_t>(workspace);
      window.template fetch<std::uint8_t>(mask, c_strides<D>(view.extents), window.view(lease));
      return window.view(lease).origin;
    };
    const MaskedSamples visibility{fetched(masks.hidden, leases[0]), fetched(masks.outside, leases[1])};
    reached = redistance_strips<T, D>(phi, grid, samples, options, visibility, workspace, finish);
  } else {
    reached = redistance_strips<T, D>(phi, grid, samples, options, EverySample{}, workspace, finish);
  }
  return parallel::global_sum(*phi.grid().communicator(), reached);
}

}  // namespace

template <class T, int D>
Index redistance(grid::Field<T, D>& phi, const RedistanceOptions& options, const SampleMasks& masks, Workspace& workspace) {
  require(options.band > 0.0, "band must be positive, got ", options.band);
  require(options.at_sides == AtSides::ends || std::isfinite(options.band), "a surface that goes on beyond sides needs a band");
  if (phi.grid().block().cut()) return redistance_block<T, D>(phi, options, masks, workspace);
  if (masks.hidden || masks.outside)
    return redistance_whole<T, D>(phi, options, MaskedSamples{masks.hidden, masks.outside}, workspace);
  return redistance_whole<T, D>(phi, options, EverySample{}, workspace);
}

#define MENISCUS_INSTANTIATE(T, D) \
  template Index redistance<T, D>(grid::Field<T, D>&, const RedistanceOptions&, const SampleMasks&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
