/// Search for the closest points of an interface, several samples at a time.
#pragma once

#include "meniscus/surface/redistancing/cubic_closest_point.hpp"
#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Samples whose closest points are wanted.
template <int D>
struct ClosestBatch {
  int count = 0;
  std::array<Coord<D>, closest_lanes> sample;
  std::array<std::array<double, D>, closest_lanes> start;  ///< where the search begins, relative to the sample, in cells
  std::array<double, closest_lanes> slope;                 ///< |grad phi|, which tells kinks from curves
  std::array<double, closest_lanes> low, high;             ///< what the distance may be
  std::array<double, closest_lanes> otherwise;             ///< the distance where the search fails; negative: none
  std::array<double, closest_lanes> blocked;               ///< likewise where it lacks samples
  std::array<bool, closest_lanes> flat;                    ///< no sample is interpolated from continued ones

  bool full() const { return count == closest_lanes; }
};

/// Distance, in cells, from a plane of samples within which points lie in the cells on both sides of it.
inline constexpr double cell_tie = 1e-6;

/// Fills lane l with the samples around a cell, which is given by its lowest corner relative to the sample; false where one of
/// them is hidden. Along the axes of the bits in `tied`, the cell below it would do as well, and may be taken instead. Called
/// through a pointer, so that the search itself is compiled once for all scalars and kinds of masks.
template <int D>
using GatherStencil = bool (*)(const void* source, const Coord<D>& sample, bool flat, unsigned tied, Coord<D>& cell, int l,
                               CubicStencils<D>& stencils);

/// Distances, in cells, of the samples of a batch.
template <int D>
void search_closest(const ClosestBatch<D>& batch, const StripGrid<D>& grid, GatherStencil<D> gather, const void* source,
                    std::array<double, closest_lanes>& distance);

}  // namespace meniscus::surface
