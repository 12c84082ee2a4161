/// Guard of a transport pass: samples whose ways or stencils may meet thin walls are taken one-sidedly; all others keep the value
/// of the plain pass, bit by bit.
#pragma once

#include "meniscus/grid/walls/one_sided.hpp"

namespace meniscus::grid {

template <class T, int D>
struct WallGuard {
  const ThinWalls<D>* walls;
  StandIn stand_in;
  /// Cells that ways of the pass lead away at most.
  double reach;
  /// Samples that its stencil needs beyond those of a linear one.
  int margin;
  /// Gets 1 at guarded samples; in the layout of the field, from the owned origin.
  std::uint8_t* guarded;

  /// Sets the lanes of a run of samples, with these strides in memory, that are guarded, and marks them. Not `needed`: marks
  /// alone.
  void find(const VelocitySource<T, D>& velocity, const Stagger<D>& stagger, const Coord<D>& strides, const RowRun<D>& run,
            const LaneVectors<T, D>& displacement, T dt_over_h, Trace trace, bool needed, Lanes<std::uint8_t>& lanes) const;
  /// Replaces the results of guarded samples of a run, which a plain pass along `displacement` has found. Not `needed`: marks
  /// guarded samples alone.
  void apply(const VelocitySource<T, D>& velocity, const SampleSource<T, D>& source, const RowRun<D>& run,
             const LaneVectors<T, D>& displacement, T dt_over_h, Trace trace, bool needed, LaneSamples<T>& out) const;
};

}  // namespace meniscus::grid
