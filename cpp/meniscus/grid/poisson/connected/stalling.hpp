/// Transition of a solve from the geometric cycle to the one that follows connections.
#pragma once

#include "meniscus/numerics/solve_info.hpp"

#include <cmath>

namespace meniscus::grid {

/// Iterations after which the geometric cycle is judged for the first time, and those over which its progress is measured.
inline constexpr int first_judgement = 6, judged_over = 4;
/// Iterations that it may take in all by that measure. Building the other cycle takes about as long as ten.
inline constexpr double patience = 24;

/// Whether the geometric cycle has failed, or would take long. It depends on nothing but the solve so far.
inline bool geometric_cycle_stalls(const numerics::SolveOptions& options, const numerics::SolveInfo& info) {
  if (info.end != numerics::SolveEnd::none) return true;
  if (info.iterations < first_judgement) return false;
  const double* last = &info.history.back();
  const double rate = std::pow(*last / *(last - judged_over), 1.0 / judged_over);
  const double left = rate < 1 ? std::log(options.tolerance / *last) / std::log(rate) : patience;
  return info.iterations + left > patience;
}

}  // namespace meniscus::grid
