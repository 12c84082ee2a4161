/// One first-order pass of transport: the step A of BFECC and MacCormack (or,
/// with a negative dt, its time reverse A^R).
#pragma once

#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/transport/row_sampler.hpp"
#include "meniscus/grid/transport/trace.hpp"
#include "meniscus/grid/walls/wall_guard.hpp"

namespace meniscus::grid {

enum class TransportBlock {
  semi_lagrangian,  ///< trace back and interpolate; any dt (Selle 2008, section 2.3)
  upwind,           ///< one-sided differences, forward Euler; dt sum_d |V_d| <= h (Selle 2008, section 2.2)
};

struct PassOptions {
  TransportBlock block = TransportBlock::semi_lagrangian;
  Trace trace = Trace::midpoint;
  Interpolation interpolation = Interpolation::linear;
};

template <class T, int D>
struct TransportPass {
  PassOptions options;
  VelocitySource<T, D> velocity;
  T dt_over_h;
  /// Samples hidden from interpolation, or nullptr.
  const MaskedVisibility<T, D>* hidden;
  /// Thin walls between samples, or nullptr; for semi-Lagrangian blocks.
  const WallGuard<T, D>* guard = nullptr;
  /// Whether guarded samples need a result, or only their mark.
  bool guarded_needed = true;
};

/// Results of the pass for one run of samples.
template <class T, int D>
void pass_run(const TransportPass<T, D>& pass, const SampleSource<T, D>& source, const RowRun<D>& run, LaneSamples<T>& out);

/// Runs the pass over all owned samples of the source. `consume(run, offset, samples)` takes each run of results; `offset` is the
/// storage offset of its first sample from the owned origin.
template <class T, int D, class Consume>
void run_pass(const TransportPass<T, D>& pass, const SampleSource<T, D>& source, Consume&& consume) {
  for_each_run<D>(source.view.extents, [&](const RowRun<D>& run) {
    LaneSamples<T> samples;
    pass_run(pass, source, run, samples);
    simd_dispatch([&] { consume(run, dot<D>(run.base, source.view.strides), samples); });
  });
}

}  // namespace meniscus::grid
