/// Revalidation: new values for samples that shells have passed, or cover, from samples on their side.
///
/// Source: Guendelman et al. 2005, section 3 (two phases of averages over neighbours, in the manner of Gauss and Jacobi);
/// Selle 2008, section 4.3.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/walls/one_sided.hpp"

namespace meniscus::coupling {

struct RevalidationReport {
  Index samples = 0;         ///< that were invalid
  Index from_stand_ins = 0;  ///< of which no visible neighbour knew a value
  Index sweeps = 0;
};

/// Gives samples where `invalid` (owned extents, C order) is not zero new values, in place. First, as long as there are any,
/// those with a valid neighbour along an axis that is visible take the mean of these; then the same with the stand-in in place of
/// neighbours behind a wall. Each sweep reads the values of the sweep before, so that no order matters. What then has neither a
/// neighbour nor a wall beside it takes `stand_in.value`.
template <class T, int D>
RevalidationReport revalidate(grid::Field<T, D>& field, const std::uint8_t* invalid, const grid::ThinWalls<D>& walls,
                              const grid::StandIn& stand_in);

}  // namespace meniscus::coupling
