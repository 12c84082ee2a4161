/// Reductions over all blocks of a domain. Every block gets the same result, and it has the bits that one block would give.
///
/// Maxima, minima and counts do not depend on an order. Sums of floating-point numbers do, so they go through ExactSum, which is
/// rounded once at the end.
#pragma once

#include "meniscus/numerics/exact_sum.hpp"
#include "meniscus/parallel/transport.hpp"

namespace meniscus::parallel {

/// NaN counts as infinite: a maximum of magnitudes tells whether any is not finite.
double global_max(Transport& transport, double value);
/// NaN counts as minus infinity.
double global_min(Transport& transport, double value);
Index global_sum(Transport& transport, Index value);
bool global_any(Transport& transport, bool value);

/// The exact sum of what all blocks have added, rounded to the nearest double.
double global_sum(Transport& transport, const numerics::ExactSum& sum);

/// The sum of the values of the blocks with a lower number.
Index sum_before(Transport& transport, Index value);

}  // namespace meniscus::parallel
