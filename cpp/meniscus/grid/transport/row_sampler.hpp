/// Interpolation for a run of up to `row_block` points along a row of samples.
///
/// A point is a sample index plus a displacement in cells, never an absolute coordinate, so that the value does not depend on
/// where a block of the grid begins. Points whose stencil leaves the stored block, or is not clear under the visibility policy,
/// are interpolated one by one afterwards (point_sampler.hpp).
#pragma once

#include "meniscus/grid/transport/point_lanes.hpp"
#include "meniscus/grid/transport/point_sampler.hpp"

namespace meniscus::grid {

/// Samples the source at run + displacement: values and extremes.
template <class T, int D>
void sample_run(const SampleSource<T, D>& source, const RowRun<D>& run, const LaneVectors<T, D>& displacement,
                Interpolation interpolation, const MaskedVisibility<T, D>* hidden, LaneSamples<T>& out);

}  // namespace meniscus::grid
