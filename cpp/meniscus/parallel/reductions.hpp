/// Reductions over all blocks of a domain. Every block gets the same result, bit-identical to that of a single block.
///
/// Maxima, minima and counts do not depend on an order. Sums of floating-point numbers do, so they go through ExactSum, which is
/// rounded once at the end.
#pragma once

#include "meniscus/numerics/sums/exact_sum.hpp"
#include "meniscus/parallel/communicator.hpp"

#include <utility>

namespace meniscus::parallel {

/// NaN counts as infinite: a maximum of magnitudes tells whether any is not finite.
double global_max(Communicator& communicator, double value);
/// NaN counts as minus infinity.
double global_min(Communicator& communicator, double value);
/// Both ends of a range at once; NaN on any block makes both NaN.
std::pair<double, double> global_range(Communicator& communicator, double low, double high);
Index global_sum(Communicator& communicator, Index value);
bool global_any(Communicator& communicator, bool value);

/// The exact sum of what all blocks have added, rounded to the nearest double.
double global_sum(Communicator& communicator, const numerics::ExactSum& sum);

/// The sum of the values of the blocks with a lower number.
Index sum_before(Communicator& communicator, Index value);

}  // namespace meniscus::parallel
