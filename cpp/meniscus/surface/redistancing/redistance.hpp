/// Redistancing: turns level sets into signed distance functions, in place, without moving the surface.
#pragma once

#include "meniscus/surface/redistancing/interface_distance.hpp"

namespace meniscus::surface {

enum class EikonalMethod {
  parallel,       ///< in parallel, see parallel_marching.hpp
  fast_marching,  ///< serially, see fast_marching.hpp
};

struct RedistanceOptions {
  EikonalMethod method = EikonalMethod::parallel;
  InterfaceDistance interface = InterfaceDistance::closest_point;
  /// Metres; infinite: everywhere.
  double band = std::numeric_limits<double>::infinity();
  AtSides at_sides = AtSides::ends;
};

/// Masks of samples, of the owned extents, or nullptr.
struct SampleMasks {
  /// Nonzero where a sample is neither source nor target; it keeps its value.
  const std::uint8_t* hidden = nullptr;
  /// Zero where a sample lies in a solid, into which the level set was continued. Distances outside do not come from interpolants
  /// of continued samples: repeated continuation and interpolation would amplify errors of round-off without bound. Where the
  /// continuations of two sides meet with a jump of more than a cell, as in a thin wall, there is no surface.
  const std::uint8_t* outside = nullptr;
};

/// Replaces phi (cells or nodes, metres) by the signed distance to its zero set. No sample changes sides (phi <= 0 is inside).
/// Samples that are farther than the band, or that no interface reaches, become +-band; without a band the latter keep their
/// values.
/// Values that are the distance already, to round-off, keep their bits, so that nothing drifts. Ghosts are not filled.
/// When anything is thrown, phi is unchanged. Returns the number of samples within the band.
///
/// In a domain cut into blocks all blocks call together, with results bit-identical to those of a single block. Fast marching
/// goes through the samples of a domain one by one; it throws InvalidArgument there.
template <class T, int D>
Index redistance(grid::Field<T, D>& phi, const RedistanceOptions& options, const SampleMasks& masks, Workspace& workspace);

}  // namespace meniscus::surface
