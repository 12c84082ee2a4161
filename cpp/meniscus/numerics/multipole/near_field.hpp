/// Sums of point sources over pairs of points, eight targets at a time: the near field of fast multipoles, and their reference.
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/numerics/multipole/point_expansions.hpp"

#include <span>

namespace meniscus::numerics {

/// Kernel of the law of Biot and Savart near a vortex, with r over the length `core`.
enum class BiotSavartKernel : std::int8_t {
  singular,      ///< 1 / r^3
  mollified,     ///< times 1 - exp(-r^3): first order in the core where the vortices form a sheet (Brochu 2012, equation 6.8)
  second_order,  ///< twice that less the same with twice the core: second order
};

/// What pairs of points give.
enum class PairSum : std::int8_t {
  charges,        ///< q / r and its gradient: 1 strength, 4 values
  three_charges,  ///< three of them: 3 strengths, 12 values
  dipoles,        ///< q / r + p . (x - y) / r^3 and its gradient: 4 strengths, 4 values
  vortices,       ///< w x (x - y) / r^3: 3 strengths, 3 values
};

struct PairKernel {
  PairSum sum = PairSum::charges;
  BiotSavartKernel vortex = BiotSavartKernel::singular;
  double core = 0.0;  ///< m

  int strengths() const { return sum == PairSum::charges ? 1 : sum == PairSum::dipoles ? 4 : 3; }
  int values() const { return sum == PairSum::three_charges ? 12 : sum == PairSum::vortices ? 3 : 4; }
  /// m, distance beyond which the kernel is the singular one up to a relative error.
  double reach(double error) const;
};

using SourceRange = std::array<std::int32_t, 2>;

/// Adds the sums over ranges of sources to the columns of values at a range of targets. Points in the same place do not act on
/// each other.
void add_pairs(const PairKernel& kernel, const PointRange& targets, const PointRange& sources,
               std::span<const double* const> strengths, std::span<const SourceRange> ranges, std::span<double* const> values);

}  // namespace meniscus::numerics
