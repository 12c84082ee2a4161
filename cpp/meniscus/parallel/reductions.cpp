#include "meniscus/parallel/reductions.hpp"

#include "meniscus/parallel/recursive_doubling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace meniscus::parallel {
namespace {

/// What all blocks hand in, combined.
template <class T, class Join>
T combine(Communicator& communicator, T value, Join&& join) {
  reduce_over_blocks(communicator, &value, 1, join);
  return value;
}

/// Blocks may not see zeros of different sign.
double without_sign_of_zero(double x) { return x + 0.0; }

}  // namespace

double global_max(Communicator& communicator, double value) {
  return combine(communicator, std::isnan(value) ? std::numeric_limits<double>::infinity() : without_sign_of_zero(value),
                 [](double a, double b) { return std::max(a, b); });
}

double global_min(Communicator& communicator, double value) {
  return combine(communicator, std::isnan(value) ? -std::numeric_limits<double>::infinity() : without_sign_of_zero(value),
                 [](double a, double b) { return std::min(a, b); });
}

std::pair<double, double> global_range(Communicator& communicator, double low, double high) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const bool numbers = !std::isnan(low) && !std::isnan(high);
  const std::array own{numbers ? without_sign_of_zero(low) : nan, numbers ? without_sign_of_zero(high) : nan};
  const auto range = combine(communicator, own, [](const auto& a, const auto& b) {
    return std::isnan(a[0]) ? a : std::isnan(b[0]) ? b : std::array{std::min(a[0], b[0]), std::max(a[1], b[1])};
  });
  return {range[0], range[1]};
}

Index global_sum(Communicator& communicator, Index value) {
  return combine(communicator, value, [](Index a, Index b) { return a + b; });
}

bool global_any(Communicator& communicator, bool value) { return global_sum(communicator, Index{value}) != 0; }

double global_sum(Communicator& communicator, const numerics::ExactSum& sum) {
  return combine(communicator, sum,
                 [](numerics::ExactSum a, const numerics::ExactSum& b) {
                   a.add(b);
                   return a;
                 })
      .value();
}

Index sum_before(Communicator& communicator, Index value) {
  std::vector<Index> all(communicator.size());
  communicator.gather(&value, sizeof value, all.data());
  Index sum = 0;
  for (Index b = 0; b < communicator.rank(); ++b) sum += all[b];
  return sum;
}

}  // namespace meniscus::parallel
