/// One step of one scalar, as schemes of advection compose it: passes forward and backward, and the corrected result with its
/// limiter and masks.
///
/// A scheme is written in `forward`, `backward` and `scratch`, and ends with `store` or `store_corrected`. Limiter, first-order
/// samples, masks, ghosts and substeps are the same for all of them.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/transport/transport_masks.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace meniscus::grid {

/// A padded block of samples; offsets count from the owned origin.
template <class T>
struct SampleBlock {
  T* storage = nullptr;
  T* origin = nullptr;
};

/// A corrected value after the limiter, which is not none; the first-order value lies between `low` and `high`.
template <class T>
MENISCUS_INLINE T limited(Limiter limiter, T value, T first_order, T low, T high) {
  if (limiter == Limiter::clamp) return detail::smaller(detail::larger(value, low), high);
  return (value >= low) & (value <= high) ? value : first_order;
}

template <class T, int D>
class AdvectionStep {
 public:
  /// `reach`: cells that traces of a pass lead away.
  AdvectionStep(const FieldLayout<D>& layout, const VelocitySource<T, D>& velocity, double reach, const AdvectOptions& options,
                const TransportMasks<T, D>& masks, const WallRule<D>& walls, Workspace& workspace)
      : layout_(layout),
        velocity_(velocity),
        far_width_(far_width(reach, stencil_margin(options.pass.interpolation))),
        far_reach_(far_reach(reach, stencil_margin(options.pass.interpolation))),
        options_(options),
        masks_(masks),
        workspace_(workspace) {
    if (!walls.walls) return;
    guarded_ = workspace.take<std::uint8_t>(layout.storage_size());
    guard_.emplace(WallGuard<T, D>{walls.walls, walls.stand_in, reach, stencil_margin(options.pass.interpolation),
                                   layout.view(guarded_.data()).origin});
  }

  /// Sets the padded block `from` as the start of a step and `to` as its result, both of the layout of the field.
  void begin(T* from, T* to, double time, double dt) {
    time_ = time;
    dt_ = dt;
    start_ = view_of(from);
    result_ = view_of(to);
    advanced_ = high_ = {};
    taken_ = 0;
    if (guarded_) std::fill_n(guarded_.data(), guarded_.size(), std::uint8_t{0});
  }

  /// The samples at the start of the step.
  SampleBlock<T> start() const { return start_; }

  /// A block that this step alone uses, not initialised. Substeps get the same blocks again.
  SampleBlock<T> scratch() {
    require(taken_ < leases_.size(), "a scheme of advection has at most ", leases_.size(), " scratch blocks");
    Workspace::Lease<T>& lease = leases_[taken_++];
    if (!lease) lease = workspace_.take<T>(layout_.storage_size());
    return view_of(lease.data());
  }

  /// Runs the pass A on samples of the start time. `consume(run, offset, samples)` takes the results, as in run_pass.
  template <class Consume>
  void forward(SampleBlock<T> samples, Consume&& consume) {
    pass(samples, time_, dt_, consume);
  }

  /// Runs the reversed pass A^R on samples of the end time.
  template <class Consume>
  void backward(SampleBlock<T> samples, Consume&& consume) {
    pass(samples, time_ + dt_, -dt_, consume);
  }

  /// The same, where the result of a sample matters to `store_corrected` of this sample alone: samples near thin walls, which
  /// take the first-order value there, are left out.
  template <class Consume>
  void backward_in_place(SampleBlock<T> samples, Consume&& consume) {
    pass(samples, time_ + dt_, -dt_, consume, false);
  }

  /// Returns A(start), and stores it with the range of the samples that it was interpolated from, for `store_corrected`.
  SampleBlock<T> first_order() {
    advanced_ = scratch();
    high_ = options_.limiter == Limiter::none ? SampleBlock<T>{} : scratch();
    T* const value = advanced_.origin;
    // The result itself keeps the lower ends until each is replaced by its final value.
    T* const low = result_.origin;
    T* const high = high_.origin;
    forward(start_, [&](const RowRun<D>& run, Index q, const LaneSamples<T>& s) {
      for (int l = 0; l < run.count; ++l) value[q + l] = s.value[l];
      if (!high) return;
      for (int l = 0; l < run.count; ++l) low[q + l] = s.low[l];
      for (int l = 0; l < run.count; ++l) high[q + l] = s.high[l];
    });
    return advanced_;
  }

  /// Stores a run of final values; samples that are not active keep their own.
  MENISCUS_INLINE void store(const RowRun<D>& run, Index q, const Lanes<T>& value) const {
    T* const out = result_.origin;
    if (const std::uint8_t* active = masks_.active()) {
      const T* const own = start_.origin;
      for (int l = 0; l < run.count; ++l) out[q + l] = active[q + l] ? value[l] : own[q + l];
    } else {
      for (int l = 0; l < run.count; ++l) out[q + l] = value[l];
    }
  }

  /// Stores a run of values that a scheme has corrected, after the limiter; where the correction is not used, the first-order
  /// values stay. Needs `first_order` before.
  MENISCUS_INLINE void store_corrected(const RowRun<D>& run, Index q, const Lanes<T>& value) const {
    const T* const advanced = advanced_.origin;
    Lanes<T> result = value;
    if (const T* const high = high_.origin) {
      const T* const low = result_.origin;
      for (int l = 0; l < run.count; ++l)
        result[l] = limited(options_.limiter, value[l], advanced[q + l], low[q + l], high[q + l]);
    }
    Lanes<std::uint8_t> first_order;
    masks_.first_order_lanes(run, q, first_order);
    if (guard_)
      for (int l = 0; l < run.count; ++l) first_order[l] = static_cast<std::uint8_t>(first_order[l] | guard_->guarded[q + l]);
    for (int l = 0; l < run.count; ++l) result[l] = first_order[l] ? advanced[q + l] : result[l];
    store(run, q, result);
  }

 private:
  SampleBlock<T> view_of(T* storage) const { return {storage, layout_.view(storage).origin}; }

  /// Fills the ghosts of the samples first. Their given values beyond the ghosts replace those of the previous samples.
  template <class Consume>
  void pass(SampleBlock<T> samples, double time, double dt, Consume&& consume, bool guarded_needed = true) {
    fill_ghosts(layout_, samples.storage, time);
    far_.prepare(layout_, far_width_, time);
    far_.fetch(layout_, static_cast<const T*>(samples.storage), far_reach_);
    const FieldView<T, D> v = layout_.view(samples.storage);
    const SampleSource<T, D> source{&layout_, {v.origin, v.extents, v.strides}, time, &far_};
    const TransportPass<T, D> block{
        options_.pass, velocity_, static_cast<T>(dt / layout_.grid.spacing()), masks_.hidden(), guard_ ? &*guard_ : nullptr,
        guarded_needed};
    run_pass(block, source, consume);
  }

  const FieldLayout<D>& layout_;
  const VelocitySource<T, D>& velocity_;
  Index far_width_, far_reach_;
  FarValues<D> far_;
  const AdvectOptions& options_;
  const TransportMasks<T, D>& masks_;
  Workspace& workspace_;
  /// Samples near thin walls keep the first-order value.
  Workspace::Lease<std::uint8_t> guarded_;
  std::optional<WallGuard<T, D>> guard_;
  double time_ = 0.0;
  double dt_ = 0.0;
  SampleBlock<T> start_, result_, advanced_, high_;
  std::array<Workspace::Lease<T>, 8> leases_;
  std::size_t taken_ = 0;
};

}  // namespace meniscus::grid
