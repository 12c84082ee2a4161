#include "meniscus/surface/markers/particle_correction.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/multilinear_stencil.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/box_exchange.hpp"
#include "meniscus/parallel/joint_reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <atomic>
#include <cmath>
#include <optional>

namespace meniscus::surface {
namespace {

using Shared = std::memory_order;

/// Lowers, or raises, a value that other threads may change as well. The extreme of a set does not depend on the order.
template <class T, class Better>
void improve(T& target, T value, Better&& better) {
  const std::atomic_ref<T> shared(target);
  T current = shared.load(Shared::relaxed);
  while (better(value, current) && !shared.compare_exchange_weak(current, value, Shared::relaxed)) {
  }
}

/// Calls body(offset of the sample from the owned origin, distance to it) for the samples of the domain around x, those of other
/// blocks in ghosts.
template <class T, int D, class Body>
MENISCUS_INLINE void for_samples_around(const grid::FieldLayout<D>& layout, const Coord<D>& strides, const T* x, Body&& body) {
  using Stencil = grid::MultilinearStencil<double, D>;
  const Stencil around(grid::locate(layout.grid, x), layout.stagger);
  for (int q = 0; q < Stencil::corners; ++q) {
    Coord<D> sample = around.sample(q);
    double square = 0.0;
    bool owned = true;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      const double away = around.upper[axis] - ((q >> d) & 1);
      square += away * away;
      if (layout.grid.block().cut(d) && grid::period_of(layout.grid, d) > 0) {
        sample[axis] -= layout.grid.first_cell()[axis];
        continue;
      }
      sample[axis] = grid::image_of_sample(layout.grid, layout.stagger, d, sample[axis]);
      owned = owned && sample[axis] >= 0;
      sample[axis] -= layout.grid.first_cell()[axis];
    }
    if (owned) body(dot<D>(sample, strides), layout.grid.spacing() * std::sqrt(square));
  }
}

/// Extremes at the samples of a block and at those of other blocks that its particles reach.
template <class T, int D>
class SharedExtremes {
 public:
  explicit SharedExtremes(const grid::FieldLayout<D>& layout) {
    const parallel::DomainBlock<D>& block = layout.grid.block();
    const std::array<int, D>& on_side = layout.stagger.on_side;
    const parallel::IndexBox<D> own = parallel::owned_samples<D>(block, on_side);
    const parallel::IndexBox<D> window = parallel::widened<D>(own, block, on_side, 1);
    own_ = own.from(block.first);
    window_ = window.from(block.first);
    exchange_.emplace(*layout.grid.communicator(), own, window, parallel::periods<D>(block), true);
  }

  /// Collective: what better(theirs, own) prefers of the values of other blocks becomes the own value.
  template <class Better>
  void take_best(T* origin, const Coord<D>& strides, Better&& better) {
    T* const first = origin + dot<D>(own_.begin, strides);
    exchange_->template give_back<T>(origin + dot<D>(window_.begin, strides), strides, strides, [&](Index sample, T value) {
      if (better(value, first[sample])) first[sample] = value;
    });
  }

 private:
  parallel::IndexBox<D> own_, window_;  ///< counted from the first of the block
  std::optional<parallel::BoxExchange<D>> exchange_;
};

}  // namespace

template <class T, int D>
Correction correct_by_particles(grid::Field<T, D>& phi, grid::ParticleSet& particles, double escape_distance, double time,
                                Workspace& workspace) {
  require(std::isfinite(escape_distance) && escape_distance >= -1.0, "escape_distance must be a number from -1, got ",
          escape_distance);
  const MarkerColumns<T, D> markers(particles);
  const Index n = particles.size();
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, markers.position, n, grid::Interpolation::linear, time, values.data());

  const auto part = static_cast<T>(escape_distance);
  const auto escaped = list_indices(
      n,
      [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end; ++i)
          if (-static_cast<T>(markers.sign[i]) * values.data()[i] > part * markers.radius[i]) take(i);
      },
      workspace);

  Correction info;
  const grid::FieldView<T, D> view = phi.view();
  const grid::FieldLayout<D>& layout = phi.layout();
  // Both are used at the samples around escaped particles only, and set there first.
  const auto upper_block = workspace.take<T>(layout.storage_size());
  const auto lower_block = workspace.take<T>(layout.storage_size());
  T* const upper = layout.view(upper_block.data()).origin;
  T* const lower = layout.view(lower_block.data()).origin;
  const auto each = [&](auto&& body) {
    parallel_for(0, escaped.size, 1024, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const Index i = escaped.index[k];
        for_samples_around<T, D>(layout, view.strides, markers.position + i * D,
                                 [&](Index offset, double distance) { body(i, offset, distance); });
      }
    });
  };
  const bool cut = phi.grid().block().cut();
  if (cut)
    for (const auto* block : {&upper_block, &lower_block})
      std::copy_n(phi.storage().data(), layout.storage_size(), block->data());
  each([&](Index, Index offset, double) {
    std::atomic_ref<T>(upper[offset]).store(view.origin[offset], Shared::relaxed);
    std::atomic_ref<T>(lower[offset]).store(view.origin[offset], Shared::relaxed);
  });
  const auto higher = [](T a, T b) { return a > b; };
  const auto deeper = [](T a, T b) { return a < b; };
  each([&](Index i, Index offset, double distance) {
    const T inside = static_cast<T>(static_cast<double>(markers.radius[i]) - distance);
    if (markers.sign[i] > 0)
      improve(upper[offset], inside, higher);
    else
      improve(lower[offset], -inside, deeper);
  });
  if (cut) {
    SharedExtremes<T, D> shared(layout);
    shared.take_best(upper, view.strides, higher);
    shared.take_best(lower, view.strides, deeper);
  }
  info.inside = parallel_reduce(
      0, escaped.size, 16384, Index{0},
      [&](Index begin, Index end) {
        Index count = 0;
        for (Index k = begin; k < end; ++k) count += markers.sign[escaped.index[k]] < 0;
        return count;
      },
      [](Index a, Index b) { return a + b; });
  info.outside = escaped.size - info.inside;
  parallel::add_up(*phi.grid().communicator(), {&info.inside, &info.outside});

  const NoInterrupts commit;
  if (cut) {
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Index row = dot<D>(grid::row_start<D>(view.extents, r), view.strides);
        for (Index i = row; i < row + view.extents[D - 1]; ++i)
          view.origin[i] = std::abs(upper[i]) <= std::abs(lower[i]) ? upper[i] : lower[i];
      }
    });
    layout.halo.exchange(phi.storage().data());
    return info;
  }
  // Several particles may write to a sample, all of them the same.
  each([&](Index, Index offset, double) {
    const T high = upper[offset];
    const T low = lower[offset];
    std::atomic_ref<T>(view.origin[offset]).store(std::abs(high) <= std::abs(low) ? high : low, Shared::relaxed);
  });
  return info;
}

#define MENISCUS_INSTANTIATE(T, D) \
  template Correction correct_by_particles<T, D>(grid::Field<T, D>&, grid::ParticleSet&, double, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
